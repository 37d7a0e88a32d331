import { Redis } from 'ioredis';
import { createKlock, type InstanceOptions, type KlockInstance } from 'klock/core';
import { redisDriver, type RedisDriverOptions } from 'klock/redis';
import { connectIoredis, type TestClient } from './redis-clients.js';
import { startRedis, type RedisOptions, type RedisServer } from './services/index.js';

/** What one client of the bed is like. */
export interface BedClient extends InstanceOptions {
  readonly redis?: RedisDriverOptions;
  /** Reach Redis through this port, such as a proxy's. */
  readonly port?: number;
}

/** A Redis of its own and clients that each have a connection of their own, as replicas of an application have. */
export class RedisBed {
  private readonly opened: { klock: KlockInstance; client: TestClient }[] = [];
  private static keys = 0;

  private constructor(
    readonly server: RedisServer,
    /** A connection to look at Redis with, and to do to it what nobody should. */
    readonly admin: Redis,
  ) {}

  static async start(options?: RedisOptions): Promise<RedisBed> {
    const server = await startRedis(options);
    const admin = new Redis({ host: '127.0.0.1', port: server.port, retryStrategy: () => 50 });
    admin.on('error', () => undefined);
    return new RedisBed(server, admin);
  }

  /** One more client. */
  async open({ redis, port = this.server.port, ...options }: BedClient = {}): Promise<KlockInstance> {
    const client = await connectIoredis(port);
    const klock = createKlock({ ...options, driver: redisDriver(client.client, redis) });
    this.opened.push({ klock, client });
    return klock;
  }

  /** A key nobody used before. */
  key(): string {
    return `key-${process.pid}-${++RedisBed.keys}`;
  }

  /** Closes every client opened so far; Redis goes on. */
  async closeClients(): Promise<void> {
    const opened = this.opened.splice(0);
    await Promise.all(opened.map(({ klock }) => klock.close({ graceMs: 1 })));
    await Promise.all(opened.map(({ client }) => client.end()));
  }

  async stop(): Promise<void> {
    await this.closeClients();
    this.admin.disconnect();
    await this.server.stop();
  }
}

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** How a promise ended and how long it took. */
export async function timed<T>(promise: Promise<T>): Promise<{ ms: number; value?: T; error?: unknown }> {
  const startMs = performance.now();
  const took = (): number => performance.now() - startMs;
  try {
    const value = await promise;
    return { ms: took(), value };
  } catch (error) {
    return { ms: took(), error };
  }
}
