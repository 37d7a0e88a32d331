import { peer } from '../contenders/peers.js';
import type { LocalLock } from './contender.js';
import { together } from './together.js';

interface Mutex {
  acquire(): Promise<() => void>;
}

export interface AsyncMutex {
  readonly Mutex: new () => Mutex;
}

/** As CommonJS has it: the faster of its two builds. */
export function open(): LocalLock {
  return lockOf(peer<AsyncMutex>('async-mutex'), 'async-mutex, required');
}

export function lockOf({ Mutex }: AsyncMutex, title: string): LocalLock {
  const mutex = new Mutex();
  const alone = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) (await mutex.acquire())();
  };
  return { title, alone, together: together(alone) };
}
