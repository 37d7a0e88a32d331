import { addressOf, LEASE_MS, type Contender } from './contender.js';
import { peer } from './peers.js';
import type { RedlockSettings } from './redlock-settings.js';

interface Lock {
  release(): Promise<unknown>;
}
interface Redlock {
  acquire(keys: string[], durationMs: number): Promise<Lock>;
  on(event: 'error', listener: () => void): void;
}
interface RedisClient {
  disconnect(): void;
}

export function redlockContender(title: string, settings: RedlockSettings): Contender {
  return {
    title,
    family: 'redis-library',
    needs: 'redis',
    open: (addresses) => {
      const { Redis } = peer<{ Redis: new (url: string) => RedisClient }>('ioredis');
      const { default: Redlock } = peer<{
        default: new (clients: RedisClient[], settings: RedlockSettings) => Redlock;
      }>('redlock');
      const redis = new Redis(`redis://${addressOf(addresses, 'redis')}`);
      const redlock = new Redlock([redis], settings);
      redlock.on('error', () => undefined);
      return Promise.resolve({
        section: async ([key], held) => {
          const lock = await redlock.acquire([`redlock:${key}`], LEASE_MS);
          held();
          await lock.release();
        },
        close: () => Promise.resolve(redis.disconnect()),
      });
    },
  };
}
