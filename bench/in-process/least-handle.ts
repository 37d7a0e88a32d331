import { LockTable, TableEntry, systemClock, type Instant } from 'klock/core';
import type { LocalLock } from './contender.js';
import { together } from './together.js';

const LEASE_MS = 10_000;
const RELEASED = Promise.resolve('released');

class Entry extends TableEntry {
  granted: (handle: Handle) => void = () => undefined;
}

/** A key, a fence, and whether it still holds by both clocks: what is left of a handle without anything else. */
class Handle {
  constructor(
    readonly key: string,
    readonly fence: bigint,
    private readonly entry: Entry,
    private readonly table: Table,
    private readonly grantedAt: Instant,
  ) {}

  release(): Promise<string> {
    const now = systemClock.now();
    const isOver =
      now.monoMs - this.grantedAt.monoMs >= LEASE_MS || now.wallMs - this.grantedAt.wallMs >= LEASE_MS;
    this.table.release(this.entry, now);
    return isOver ? Promise.resolve('lost') : RELEASED;
  }
}

class Table {
  private readonly table = new LockTable<Entry>((entry) => entry.granted(this.handle(entry, this.now)));
  private now: Instant = systemClock.now();
  private fences = BigInt(Date.now());

  acquire(key: string): Promise<Handle> {
    const now = systemClock.now();
    const entry = new Entry([key]);
    if (this.table.acquire(entry)) return Promise.resolve(this.handle(entry, now));
    return new Promise((resolve) => (entry.granted = resolve));
  }

  release(entry: Entry, now: Instant): void {
    this.now = now;
    this.table.release(entry);
  }

  private handle(entry: Entry, now: Instant): Handle {
    return new Handle(entry.l1, ++this.fences, entry, this, now);
  }
}

/**
 * What no lock with a handle can undercut: the table, a fence, both clocks read when it is taken and when it is given back,
 * and a promise for each. No sessions, events, owners, options or loss.
 */
export function open(): LocalLock {
  const table = new Table();
  const alone = async (pairs: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) {
      const handle = await table.acquire('resource');
      await handle.release();
    }
  };
  return {
    title: 'the least of a handle',
    alone,
    together: together(alone),
  };
}
