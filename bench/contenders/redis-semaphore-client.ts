import { addressOf, LEASE_MS, WAIT_MS, type Contender } from './contender.js';
import { peer } from './peers.js';

interface Mutex {
  acquire(): Promise<void>;
  release(): Promise<void>;
}
interface MutexOptions {
  readonly lockTimeout: number;
  readonly acquireTimeout: number;
  readonly retryInterval?: number;
}
interface RedisClient {
  disconnect(): void;
}

export function redisSemaphoreContender(
  title: string,
  settings: Pick<MutexOptions, 'retryInterval'>,
): Contender {
  return {
    title,
    family: 'redis-library',
    needs: 'redis',
    open: (addresses) => {
      const { Redis } = peer<{ Redis: new (url: string) => RedisClient }>('ioredis');
      const { Mutex } = peer<{
        Mutex: new (client: RedisClient, key: string, options: MutexOptions) => Mutex;
      }>('redis-semaphore');
      const redis = new Redis(`redis://${addressOf(addresses, 'redis')}`);
      const options = { lockTimeout: LEASE_MS, acquireTimeout: WAIT_MS, ...settings };
      return Promise.resolve({
        section: async ([key], held) => {
          const mutex = new Mutex(redis, `semaphore:${key}`, options);
          await mutex.acquire();
          held();
          await mutex.release();
        },
        close: () => Promise.resolve(redis.disconnect()),
      });
    },
  };
}
