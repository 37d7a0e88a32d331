import { peer } from '../contenders/peers.js';
import type { LocalLock } from './contender.js';

interface Mutex {
  acquire(): Promise<() => void>;
}

export function open(): LocalLock {
  const { Mutex } = peer<{ Mutex: new () => Mutex }>('async-mutex');
  const mutex = new Mutex();
  const alone = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) (await mutex.acquire())();
  };
  const together = async (pairs: number, waiters: number): Promise<void> => {
    await Promise.all(Array.from({ length: waiters }, () => alone(pairs / waiters)));
  };
  return { title: 'async-mutex', alone, together };
}
