import type { LockDriver } from '../../core/index.js';
import type { RedisClientLike } from '../../redis-client/index.js';
import { HandoverDriver } from '../kit/index.js';
import { RedisDriver } from './redis-driver.js';
import type { RedisDriverOptions } from './redis-options.js';

export type { RedisClientLike } from '../../redis-client/index.js';
export type { RedisDriverOptions, ReplicaOptions } from './redis-options.js';
export { RedisDriver } from './redis-driver.js';

/**
 * Locks in a Redis of yours, through your own client: ioredis 5 or 6, node-redis 5 or 6; a single server, Sentinel or
 * Cluster. The client is used as it is and never closed; connect it first if it is one of node-redis.
 * @throws InvalidOptionError for anything that is no such client, and for options out of range; nothing is contacted.
 */
export function redisDriver(client: RedisClientLike, options?: RedisDriverOptions): LockDriver {
  return new HandoverDriver(new RedisDriver(client, options));
}
