export * from '../fencing/index.js';
export type { RedisClientLike } from '../redis-client/index.js';
