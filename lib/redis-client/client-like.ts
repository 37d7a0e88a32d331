/** Any method: what it takes is checked where the client is recognised, not by its declared type. */
type Method = (...args: never[]) => unknown;

/** A client of ioredis 5 or 6: `Redis` (also behind Sentinel) or `Cluster`. */
export interface IoredisLike {
  readonly status: string;
  readonly evalsha: Method;
  readonly duplicate: Method;
  readonly on: Method;
}

/** A client of node-redis 5 or 6: `createClient`, `createSentinel` or `createCluster`. */
export interface NodeRedisLike {
  readonly isOpen: boolean;
  readonly evalSha: Method;
  /** Sentinel clients of version 5 have none. */
  readonly duplicate?: Method;
  readonly on: Method;
}

/** Your own Redis client. klock uses it as it is and never closes it. */
export type RedisClientLike = IoredisLike | NodeRedisLike;
