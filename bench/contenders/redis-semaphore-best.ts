import { redisSemaphoreContender } from './redis-semaphore-client.js';

/** The pause that passed a contended key on fastest; see docs/internals/benchmarks.md. */
export const contender = redisSemaphoreContender('redis-semaphore, best settings', { retryInterval: 1 });
