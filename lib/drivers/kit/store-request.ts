import type { DriverAcquire, LockKey } from '../../core/index.js';

/** A local request as the store gets it, at the head of its local queue: with what is left of its wait, and a span. */
export class StoreRequest implements DriverAcquire {
  constructor(
    private readonly local: DriverAcquire,
    readonly waitMs: number,
    readonly span: number,
  ) {}

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
}
