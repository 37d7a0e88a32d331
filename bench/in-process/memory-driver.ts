import { createKlock, memoryDriver } from 'klock/core';
import type { Key } from '../contenders/contender.js';
import type { LocalLock } from './contender.js';
import { together } from './together.js';

/** The full front end: a handle with its lease, fence, signal and events for every pair. */
export function open(): LocalLock {
  const klock = createKlock({ driver: memoryDriver() });
  const alone = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) {
      const lock = await klock.acquire('resource');
      await lock.release();
    }
  };
  const keyed = async (pairs: number, nextKey: () => Key): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) {
      const lock = await klock.acquire(nextKey());
      await lock.release();
    }
  };
  return {
    title: 'klock memory driver',
    alone,
    together: together(alone),
    keyed: async (pairs, workers, keysOf) => {
      await Promise.all(
        Array.from({ length: workers }, (_, worker) => keyed(pairs / workers, keysOf(worker))),
      );
    },
  };
}
