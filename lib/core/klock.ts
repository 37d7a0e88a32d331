import type { Election, ElectionOptions } from './election.js';
import type { Capabilities } from './lock-driver.js';
import type { LockEvent } from './lock-events.js';
import type { LockHandle, LockOwner } from './lock-handle.js';
import type { KeyInput } from './lock-key.js';
import type { LockReport } from './lock-report.js';
import type { AcquireOptions, TryOptions } from './options.js';
import type { RevokeOptions, RevokeReport } from './revoke.js';

/** A section that runs while a lock is held. */
export type Work<T> = (lock: LockHandle) => PromiseLike<T> | T;

/** The lock API, the same over every driver. */
export interface Klock extends AsyncDisposable {
  readonly name: string;
  readonly capabilities: Capabilities;
  /**
   * Waits for the lock.
   * @throws LockTimeoutError when `waitMs` is over; LockAbortedError by the caller's signal; LockReentryError;
   * LockUnavailableError, BackendStateError, ClosedError; InvalidKeyError and InvalidOptionError before any I/O.
   */
  acquire(key: KeyInput, options?: AcquireOptions): Promise<LockHandle>;
  /** Asks once, never queues; undefined if someone else holds. Throws as `acquire`, but never LockTimeoutError. */
  tryAcquire(key: KeyInput, options?: TryOptions): Promise<LockHandle | undefined>;
  /**
   * Runs `work` while holding the lock and releases it afterwards, whatever happened.
   * A lock lost before `work` ended rejects with LockLostError, the result attached. An error of `work` always passes through unchanged.
   */
  withLock<T>(key: KeyInput, work: Work<T>): Promise<T>;
  withLock<T>(key: KeyInput, options: AcquireOptions, work: Work<T>): Promise<T>;
  /** The innermost lock of this instance that the current flow holds (inside `withLock` or a decorated method); with a key, one that covers it. */
  current(key?: KeyInput): LockHandle | undefined;
  /** A new identity for bare handles that shall re-enter. */
  owner(): LockOwner;
  /**
   * Stands for an office: whoever holds the lock of this key leads. The candidate stands again after each loss, with
   * growing pauses, until it resigns or the instance closes.
   * @throws InvalidKeyError, InvalidOptionError, ClosedError at once; what happens later is told to the listeners and as `warning` events.
   */
  elect(key: KeyInput, options: ElectionOptions): Election;
  /** Whether anyone holds the key or something that conflicts. Diagnostic only: it may be false by the time it is read. */
  isLocked(key: KeyInput): Promise<boolean>;
  /** Who holds and who waits. Diagnostic only. */
  inspect(key: KeyInput): Promise<LockReport>;
  /**
   * For operators: ends what is held of exactly this key, whoever holds it, and says what that was. The holder loses its lock
   * with reason `revoked` as soon as it hears of it, at its next renewal at the latest; the next waiter is granted at once,
   * with a larger fence. Until the old holder has heard, both may believe that they hold: only the fence guards there.
   * @throws InvalidKeyError, InvalidOptionError before any I/O; LockUnavailableError: it may or may not have been carried
   * out, and repeating it with `fence` ends nobody else's lock; BackendStateError where the store does not know it or refuses.
   */
  revoke(key: KeyInput, options?: RevokeOptions): Promise<RevokeReport>;
  /** Releases by token. @throws LockNotHeldError, InvalidTokenError, LockUnavailableError */
  releaseToken(key: KeyInput, token: string): Promise<void>;
  /** Extends by token. @throws LockNotHeldError, InvalidTokenError, InvalidOptionError, LockUnavailableError */
  extendToken(key: KeyInput, token: string, ttlMs: number): Promise<void>;
  /** Listens to events of one type until disposed. A listener that throws is reported as a `warning` and disturbs nobody. */
  on<E extends LockEvent['type']>(
    type: E,
    listener: (event: Extract<LockEvent, { type: E }>) => void,
  ): Disposable;
  /**
   * Refuses new acquires, waits up to `graceMs` (10,000) for sections to end with their locks still renewed, then releases
   * what is held and closes the driver. Repeatable.
   * @throws InvalidOptionError for a `graceMs` that is no duration, and nothing else.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}
