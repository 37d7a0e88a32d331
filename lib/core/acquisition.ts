import type { Instant } from './clock.js';
import type { PendingAcquire } from './figures.js';
import type { DriverAcquire } from './lock-driver.js';
import type { LockKey } from './lock-key.js';
import type { Owner } from './owner.js';
import type { Random } from './random.js';
import type { ResolvedAcquire } from './resolve.js';

/** The calls of the front end that take a lock. */
export type AcquiringCall = 'acquire' | 'tryAcquire' | 'withLock' | 'section';

/**
 * One acquire: what its caller asked for, and what the driver gets of it. Its id is made when first read: a store in this
 * process needs none.
 */
export class Acquisition implements DriverAcquire {
  /** Under whom the lock shall be held, where the caller said so. */
  owner: Owner | undefined = undefined;
  /** Undefined without telemetry. */
  figures: PendingAcquire | undefined = undefined;
  /** Ends the wait, as the driver sees it. */
  signal: AbortSignal | undefined = undefined;
  private id: string | undefined = undefined;

  constructor(
    readonly call: AcquiringCall,
    /** As the caller wrote it. */
    readonly askedKey: LockKey,
    readonly key: LockKey,
    readonly terms: ResolvedAcquire,
    readonly waitMs: number,
    readonly askedAt: Instant,
    private readonly random: Random,
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

  /** The same asked again under a new id. */
  again(waitMs: number, askedAt: Instant): Acquisition {
    const { call, askedKey, key, terms, random } = this;
    const again = new Acquisition(call, askedKey, key, terms, waitMs, askedAt, random);
    again.signal = this.signal;
    return again;
  }
}
