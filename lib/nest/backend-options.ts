import type { LockDriver, LockKey } from '../core/index.js';
import type { EtcdOptions } from '../drivers/etcd/index.js';
import type { RedisDriverOptions, redisDriver } from '../drivers/redis/index.js';

/** Locks inside this process (`'memory'`), or a driver of your own. */
export interface DriverBackend {
  readonly driver: 'memory' | LockDriver;
}

/** Locks of a klock server: the options of `klockDriver` in `klock/client`. */
export interface UrlBackend {
  /** `klock://host:port` plain, `klocks://host:port` TLS. Several: addresses of one and the same server. */
  readonly url: string | readonly string[];
  /** Sent with every call. */
  readonly authToken?: string;
  /** Default `auto`: TLS if the url says so. */
  readonly transport?: 'auto' | 'tls' | 'insecure';
  readonly ca?: string | Buffer;
  readonly sessionLeaseMs?: number;
  readonly leaseBufferMs?: number;
  readonly connectTimeoutMs?: number;
  readonly keepaliveMs?: number;
  readonly watch?: 'hint' | 'strict';
  readonly idleSessionMs?: number;
}

/** Names of {@link UrlBackend} besides `url`. */
export const URL_OPTIONS = [
  'authToken',
  'transport',
  'ca',
  'sessionLeaseMs',
  'leaseBufferMs',
  'connectTimeoutMs',
  'keepaliveMs',
  'watch',
  'idleSessionMs',
] as const satisfies readonly (keyof UrlBackend)[];

/**
 * What a hosted lock server is told: `ServerOptions` of `klock/server`, where each is described. Written out, since the
 * types of this entry point name nothing of gRPC.
 */
export interface HostedServerOptions {
  readonly address?: string;
  readonly allowInsecurePublicBind?: boolean;
  readonly authToken?: string;
  readonly acceptRawToken?: boolean;
  readonly defaultLeaseMs?: number;
  readonly minLeaseMs?: number;
  readonly maxLeaseMs?: number;
  readonly rateLimit?: { readonly rps?: number; readonly burst?: number } | false;
  readonly idempotencyEntries?: number;
  readonly idempotencyTtlMs?: number;
  readonly shards?: number;
  readonly stateDir?: string;
  readonly firstStart?: boolean;
  readonly drainMs?: number;
  readonly mayRevoke?:
    | boolean
    | ((asked: {
        readonly key: LockKey;
        readonly fence?: bigint;
        readonly below: boolean;
        readonly peer: string;
        readonly client: string;
      }) => boolean);
  readonly maxSessions?: number;
  readonly maxWaiters?: number;
  readonly maxWaitersPerKey?: number;
  readonly maxLocksPerSession?: number;
  readonly maxConnections?: number;
  readonly log?: object;
  readonly production?: boolean;
}

/** A lock server hosted in this application; its own locks go to that engine in process. */
export interface ServerBackend {
  readonly server: HostedServerOptions;
}

/** Locks in a Redis of yours: the options of `redisDriver` in `klock/redis` beside the client. */
export interface RedisBackend extends RedisDriverOptions {
  /** A client of ioredis or node-redis, connected by you; klock uses it as it is and never closes it. */
  readonly redis: Parameters<typeof redisDriver>[0];
}

/** Names of {@link RedisBackend} besides `redis`. */
export const REDIS_OPTIONS = [
  'prefix',
  'fencing',
  'eviction',
  'replicas',
  'storeName',
] as const satisfies readonly (keyof RedisDriverOptions)[];

/** Locks on an etcd cluster: the options of `etcdDriver` in `klock/etcd`. Leases are whole seconds there. */
export interface EtcdBackend {
  readonly etcd: EtcdOptions;
}

/** Where an instance's locks live: exactly one of these. */
export type Backend = DriverBackend | UrlBackend | RedisBackend | EtcdBackend | ServerBackend;
