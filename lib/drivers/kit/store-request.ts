import type { DriverAcquire, Instant, LockKey } from '../../core/index.js';
import type { LockTable } from '../../engine/index.js';
import type { LocalWaiter, Reply } from './local-waiter.js';

/** Fences asked for at most: how often a grant may be passed on before waiters elsewhere get their turn (design D13). */
const MAX_SPAN = 32;

/** What becomes of the store's answer. */
export interface StoreReader {
  told(waiter: LocalWaiter, reply: Reply): void;
  refused(waiter: LocalWaiter, error: unknown): void;
}

/** A local request as the store gets it, at the head of its local queue: with what is left of its wait, and a span. */
export class StoreRequest implements DriverAcquire {
  constructor(
    private readonly waiter: LocalWaiter,
    readonly waitMs: number,
    /** Undefined for one that waited in its local queue. */
    readonly askedAt: Instant | undefined,
    private readonly table: LockTable<LocalWaiter>,
    private readonly reader: StoreReader,
  ) {}

  settle(reply: Reply): void {
    this.reader.told(this.waiter, reply);
  }

  fail(error: unknown): void {
    this.reader.refused(this.waiter, error);
  }

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
