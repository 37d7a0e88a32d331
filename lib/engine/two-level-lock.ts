import { abortedError, checkSignal, onAbort, parseKey, type KeyInput } from '../core/index.js';
import { LockTable, type LockTableOptions } from './lock-table.js';
import { TableEntry } from './table-entry.js';

/** Gives a key back. May be called any number of times; only the first counts. */
export type Unlock = () => void;

class PromisedEntry extends TableEntry {
  granted: () => void = () => undefined;
}

/**
 * The lock table with promises: two-level locks inside one program, without sessions, leases or fences. Not
 * reentrant: whoever asks for a key it holds waits for itself, until its signal ends the wait.
 *
 * @example
 * const locks = new TwoLevelLock();
 * const unlock = await locks.acquire(['tenant-1', 'invoice-7'], AbortSignal.timeout(1_000));
 * try { … } finally { unlock(); }
 */
export class TwoLevelLock {
  private readonly table: LockTable<PromisedEntry>;

  /** @throws InvalidOptionError for `shards` other than a whole number from 0. */
  constructor(options?: LockTableOptions) {
    this.table = new LockTable<PromisedEntry>((entry) => {
      entry.granted();
    }, options);
  }

  /** Holders and waiters, both 0 when nobody uses it. */
  get size(): { readonly held: number; readonly waiting: number } {
    return { held: this.table.held, waiting: this.table.waiting };
  }

  /**
   * Waits for a key.
   * @throws InvalidKeyError; InvalidOptionError for a `signal` that is none; LockAbortedError once `signal` aborts, its `cause` the signal's reason.
   */
  acquire(key: KeyInput, signal?: AbortSignal): Promise<Unlock> {
    return new Promise((resolve, reject) => {
      const parsed = parseKey(key);
      if (signal !== undefined) checkSignal('signal', signal);
      if (signal?.aborted) throw abortedError(parsed, signal.reason);
      const entry = new PromisedEntry(parsed);
      if (this.table.acquire(entry)) {
        resolve(() => void this.table.release(entry));
        return;
      }
      const abort = onAbort(signal, (reason) => {
        if (this.table.withdraw(entry)) reject(abortedError(parsed, reason));
      });
      entry.granted = () => {
        abort[Symbol.dispose]();
        resolve(() => void this.table.release(entry));
      };
    });
  }

  /** Takes a key if nothing stands before it, else undefined. */
  tryAcquire(key: KeyInput): Unlock | undefined {
    const entry = new PromisedEntry(parseKey(key));
    return this.table.tryAcquire(entry) ? () => void this.table.release(entry) : undefined;
  }
}
