import type { Asker } from './asker.js';
import type { Instant } from './clock.js';
import type { CountedHandle } from './counted-handle.js';
import type { PendingAcquire } from './figures.js';
import type { DriverAcquire, DriverBusy, DriverGrant } from './lock-driver.js';
import type { Instance } from './instance.js';
import type { LockKey } from './lock-key.js';
import type { Owner } from './owner.js';
import type { ResolvedAcquire } from './resolve.js';

/** The calls of the front end that take a lock. */
export type AcquiringCall = 'acquire' | 'tryAcquire' | 'withLock' | 'section';

/** Undefined: busy, where that is an answer (`tryAcquire`). */
export type Acquired = CountedHandle | undefined;

/** What becomes of an answer that comes later. */
export interface AnswerReader {
  read(ask: Acquisition, reply: DriverGrant | DriverBusy): void;
  readError(ask: Acquisition, error: unknown): void;
}

/**
 * One acquire: what its caller asked for, and what the driver gets of it. Its id is made when first read: a store in this
 * process needs none.
 */
export class Acquisition implements DriverAcquire, Asker {
  /** Under whom the lock shall be held, where the caller said so. */
  owner: Owner | undefined = undefined;
  /** Undefined without telemetry. */
  figures: PendingAcquire | undefined = undefined;
  /** Ends the wait, as the driver sees it. */
  signal: AbortSignal | undefined = undefined;
  /** The caller's promise, of one that has to wait. */
  resolve: (made: unknown) => void = ignore;
  reject: (error: unknown) => void = ignore;
  /** Who reads the answer of a driver that tells it later. */
  reader: AnswerReader | undefined = undefined;
  private id: string | undefined = undefined;

  constructor(
    readonly call: AcquiringCall,
    /** As the caller wrote it. */
    readonly askedKey: LockKey,
    readonly key: LockKey,
    readonly terms: ResolvedAcquire,
    readonly waitMs: number,
    readonly askedAt: Instant,
    protected readonly instance: Instance,
  ) {}

  get requestId(): string {
    return (this.id ??= this.instance.random.id());
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

  /** What the caller gets of what was acquired, made in the turn in which the answer is read. */
  made(acquired: Acquired): unknown {
    return acquired;
  }

  /** It was refused, or its wait ended without the lock. */
  failed(): void {
    // Its caller is told by the promise.
  }

  /** What the caller waits for. */
  promise(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  settle(reply: DriverGrant | DriverBusy): void {
    this.reader?.read(this, reply);
  }

  fail(error: unknown): void {
    this.reader?.readError(this, error);
  }

  /** The same asked again under a new id, to be answered by a promise. */
  again(waitMs: number, askedAt: Instant): DriverAcquire {
    const { key, ttlMs, attemptMs, renew, passable, keeps, metadata, signal } = this;
    return {
      requestId: this.instance.random.id(),
      key,
      ttlMs,
      waitMs,
      attemptMs,
      renew,
      passable,
      keeps,
      askedAt,
      ...(metadata === undefined ? undefined : { metadata }),
      ...(signal === undefined ? undefined : { signal }),
    };
  }
}

function ignore(): void {
  // Nobody waits for it.
}
