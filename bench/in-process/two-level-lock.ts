import { TwoLevelLock } from 'klock/core';
import type { Key } from '../contenders/contender.js';
import type { LocalLock } from './contender.js';
import { together } from './together.js';

export function open(): LocalLock {
  const locks = new TwoLevelLock();
  const key: Key = ['tenant', 'resource'];
  const alone = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) (await locks.acquire(key))();
  };
  const keyed = async (pairs: number, nextKey: () => Key): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) (await locks.acquire(nextKey()))();
  };
  return {
    title: 'klock TwoLevelLock',
    alone,
    together: together(alone),
    keyed: async (pairs, workers, keysOf) => {
      await Promise.all(
        Array.from({ length: workers }, (_, worker) => keyed(pairs / workers, keysOf(worker))),
      );
    },
  };
}
