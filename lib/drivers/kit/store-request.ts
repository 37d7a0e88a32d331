import type { DriverAcquire, LockKey } from '../../core/index.js';
import type { LockTable } from '../../engine/index.js';
import type { LocalWaiter } from './local-waiter.js';

/** Fences asked for at most: how often a grant may be passed on before waiters elsewhere get their turn (design D13). */
const MAX_SPAN = 32;

/** A local request as the store gets it, at the head of its local queue: with what is left of its wait, and a span. */
export class StoreRequest implements DriverAcquire {
  constructor(
    private readonly waiter: LocalWaiter,
    readonly waitMs: number,
    private readonly table: LockTable<LocalWaiter>,
  ) {}

  /** For those behind it now: siblings that ask in the same turn come before what is asked leaves the process. */
  get span(): number {
    return Math.min(this.table.waitersFor(this.waiter) + 1, MAX_SPAN);
  }

  get requestId(): string {
    return this.local.requestId;
  }

  get key(): LockKey {
    return this.local.key;
  }

  get ttlMs(): number {
    return this.local.ttlMs;
  }

  get attemptMs(): number {
    return this.local.attemptMs;
  }

  get renew(): boolean {
    return this.local.renew;
  }

  get metadata(): DriverAcquire['metadata'] {
    return this.local.metadata;
  }

  get keeps(): boolean {
    return this.local.keeps === true;
  }

  get signal(): DriverAcquire['signal'] {
    return this.local.signal;
  }

  private get local(): DriverAcquire {
    return this.waiter.request;
  }
}
