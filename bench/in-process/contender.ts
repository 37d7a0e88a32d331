import type { Key } from '../contenders/contender.js';

/** A lock inside one process, measured in loops of its own so that nothing but the lock is between two stamps of time. */
export interface LocalLock {
  readonly title: string;
  /** `pairs` times, one after another: take one key and give it back, as its users write it. */
  alone(pairs: number): Promise<void>;
  /** `waiters` callers that ask for one key again at once, until they had it `pairs` times together. */
  together(pairs: number, waiters: number): Promise<void>;
  /** `workers` callers with keys of their own order; undefined where the lock knows no keys. */
  keyed?(pairs: number, workers: number, keysOf: (worker: number) => () => Key): Promise<void>;
}
