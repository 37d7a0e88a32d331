import type { LossReason } from './errors.js';
import type { LockKey } from './lock-key.js';

/**
 * How a release ended: the store freed it; it had been released before; it was lost before the release;
 * the store has not answered within `releaseTimeoutMs` (it is asked again in the background).
 */
export type ReleaseOutcome = 'released' | 'already-released' | 'lost' | 'unknown';

/** How a handle ended. */
export type LockEnd =
  | { readonly end: 'released'; readonly at: Date }
  | { readonly end: 'lost'; readonly at: Date; readonly reason: LossReason; readonly code: string };

/** The client's proof of a grant. */
export interface LockHandle extends AsyncDisposable {
  /** The key as it was asked for, without namespace. */
  readonly key: LockKey;
  /** The secret that proves ownership of this grant. */
  readonly token: string;
  /** Larger than the fence of every earlier conflicting grant of the store. Compare, never compute. */
  readonly fence: bigint;
  /** Read now, on both clocks: whether this handle still proves the lock. Past the deadline the loss happens in this very call. */
  readonly held: boolean;
  /** Milliseconds until the deadline if no renewal succeeds; 0 once not held. */
  readonly remainingMs: number;
  /** Aborts with a LockLostError when the lock is lost, exactly once; never by a release. */
  readonly signal: AbortSignal;
  /** Resolves with the end, for any number of readers. Never rejects. */
  readonly done: Promise<LockEnd>;
  /**
   * Throws unless the lock is held now, and for `forMs` more if given.
   * @throws LockLostError after a loss, LockNotHeldError after a release or when too little time is left.
   */
  assertHeld(forMs?: number): void;
  /**
   * Moves the lease's end to now + ttl, at once instead of at the next renewal.
   * @throws LockLostError, LockUnavailableError; InvalidOptionError for a ttl the driver cannot give this lease.
   */
  extend(ttlMs?: number): Promise<void>;
  /** Gives the lock back. Idempotent; never rejects. */
  release(options?: { readonly timeoutMs?: number }): Promise<ReleaseOutcome>;
  /**
   * Keeps the lock until `work` settles although the section or decorated method ends before: for work that goes on
   * after the method returned, such as the commit of a surrounding transaction. At most `maxMs` (60,000) more.
   */
  holdUntil(work: PromiseLike<unknown>, options?: { readonly maxMs?: number }): void;
}

/** An identity under which bare handles re-enter (design D10). Disposing it releases what it still holds. */
export interface LockOwner extends AsyncDisposable {
  readonly id: string;
}
