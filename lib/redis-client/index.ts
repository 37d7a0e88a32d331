export type { IoredisLike, NodeRedisLike, RedisClientLike } from './client-like.js';
export { SLOTS, hashSlot } from './hash-slot.js';
export { isRedisClient, linkTo } from './link-to.js';
export { leadingCode, replyCode, replyText } from './redis-error.js';
export type { LinkState, RedisLink, SubscriptionListener } from './redis-link.js';
export { redisScript, type RedisScript } from './redis-script.js';
