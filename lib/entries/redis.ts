export { redisDriver, type RedisDriverOptions, type ReplicaOptions } from '../drivers/redis/index.js';
export type { RedisClientLike } from '../redis-client/index.js';
