import { klockDriver, type KlockDriverOptions } from '../drivers/klock/index.js';
import { LockServer, type ServerOptions } from '../server/index.js';
import type { RedisDriverOptions } from '../drivers/redis/index.js';
import {
  type REDIS_OPTIONS,
  type URL_OPTIONS,
  type HostedServerOptions,
  type UrlBackend,
} from './backend-options.js';
import { KlockModule } from './klock.module.js';

type SameNames<A, B> = [keyof A, keyof B] extends [keyof B, keyof A] ? true : never;

// Checked by the compiler: the options written out here are those of the driver and of the server.
const url: SameNames<UrlBackend, KlockDriverOptions> = true;
const server: SameNames<HostedServerOptions, Omit<ServerOptions, 'clock' | 'random'>> = true;
const redis: [keyof RedisDriverOptions] extends [(typeof REDIS_OPTIONS)[number]] ? true : never = true;
const asDriver = (options: UrlBackend): KlockDriverOptions => options;

describe('the options of a back end', () => {
  it('are all of those the driver knows, and no others', () => {
    expect([url, server, redis, asDriver]).toHaveLength(4);
    const given: Record<(typeof URL_OPTIONS)[number], unknown> = {
      authToken: 'secret',
      transport: 'insecure',
      ca: '-----BEGIN CERTIFICATE-----',
      sessionLeaseMs: 10_000,
      leaseBufferMs: 1,
      connectTimeoutMs: 1_000,
      keepaliveMs: 10_000,
      watch: 'hint',
      idleSessionMs: 1_000,
    };
    const options = { url: 'klock://127.0.0.1:1', ...given } as UrlBackend;
    expect(() => klockDriver(options)).not.toThrow();
    expect(() => KlockModule.forRoot(options)).not.toThrow();
    expect(() => KlockModule.forRoot({ ...options, watches: 'hint' } as UrlBackend)).toThrow(
      /no option "watches"/,
    );
    expect(() => new LockServer({ address: '127.0.0.1:0' })).not.toThrow();
  });
});
