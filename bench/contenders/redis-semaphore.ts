import { redisSemaphoreContender } from './redis-semaphore-client.js';

export const contender = redisSemaphoreContender('redis-semaphore', {});
