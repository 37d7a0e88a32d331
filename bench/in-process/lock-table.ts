import { LockTable, TableEntry } from 'klock/core';
import type { LocalLock } from './contender.js';
import { together } from './together.js';

class Waiter extends TableEntry {
  granted: () => void = () => undefined;
}

/** The engine's table, as the drivers and the server use it: synchronous where nobody is in the way. */
export function open(): LocalLock {
  const table = new LockTable<Waiter>((waiter) => waiter.granted());
  const contended = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) {
      const entry = new Waiter(['tenant', 'resource']);
      // whoever gets it at once holds it for a turn, or the others would never have to wait
      if (table.acquire(entry)) await Promise.resolve();
      else await new Promise<void>((resolve) => (entry.granted = resolve));
      table.release(entry);
    }
  };
  return {
    title: 'klock LockTable',
    alone: (pairs) => {
      for (let pair = 0; pair < pairs; pair++) {
        const entry = new Waiter(['tenant', 'resource']);
        table.acquire(entry);
        table.release(entry);
      }
      return Promise.resolve();
    },
    together: together(contended),
  };
}
