import type { LockLostError } from './errors.js';
import type { LockHandle, ReleaseOutcome } from './lock-handle.js';
import type { KeyInput } from './lock-key.js';
import type { AcquireOptions } from './options.js';

/** Options of a section: those of acquire, and what only sections have. */
export interface SectionOptions extends AcquireOptions {
  /** Names the section in messages, such as `InvoiceService.close`. */
  readonly label?: string;
  /** The key stays taken at least this long after the grant, however short the section. Needs capability `atLeast`. */
  readonly atLeastMs?: number;
}

/** A lock held for a piece of work, known to the flow that runs inside it: what `withLock` and `@Locked` are made of. */
export interface Section {
  readonly handle: LockHandle;
  /**
   * Set once the lock was lost; read it after the work, before using its result. In the turn of `leave`, and after it, as
   * `leave` found it: what the release brings to light does not count.
   */
  readonly lost: LockLostError | undefined;
  /** Whether `maxHoldMs` ends the call although its work goes on. */
  readonly endsByItself: boolean;
  /** Runs `work` in the flow of this lock: `klock.current()` and reentry see it, in everything it calls and awaits. */
  run<T>(work: () => T): T;
  /** Ends the section: releases, or leaves that to `holdUntil`. Idempotent; never rejects; waits `releaseTimeoutMs` at most. */
  leave(): Promise<ReleaseOutcome>;
}

/** Under this symbol every {@link Klock} of this package offers `enterSection(key, options)`, for decorators and adapters. */
export const ENTER_SECTION: unique symbol = Symbol.for('klock.enter-section.v1') as never;

export interface Sections {
  /** Waits for the lock as `acquire` does and rejects with what it throws; a section at once where nothing has to be waited for. */
  [ENTER_SECTION](key: KeyInput, options?: SectionOptions): Section | Promise<Section>;
}
