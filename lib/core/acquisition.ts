import type { DriverAcquire } from './lock-driver.js';
import type { LockKey } from './lock-key.js';
import type { Random } from './random.js';
import type { ResolvedAcquire } from './resolve.js';

/** One acquire as the driver gets it. Its id is made when first read: a store in this process needs none. */
export class Acquisition implements DriverAcquire {
  private id: string | undefined;

  constructor(
    private readonly random: Random,
    readonly key: LockKey,
    private readonly terms: ResolvedAcquire,
    readonly waitMs: number,
    readonly signal: AbortSignal | undefined,
  ) {}

  get requestId(): string {
    return (this.id ??= this.random.id());
  }

  get ttlMs(): number {
    return this.terms.ttlMs;
  }

  get attemptMs(): number {
    return this.terms.attemptMs;
  }

  get renew(): boolean {
    return this.terms.renew;
  }

  get passable(): boolean {
    const { renew, localTtlMs, metadata } = this.terms;
    return renew && localTtlMs === undefined && metadata === undefined;
  }

  get keeps(): boolean {
    return this.terms.atLeastMs !== undefined;
  }

  get metadata(): Readonly<Record<string, string>> | undefined {
    return this.terms.metadata;
  }
}
