import type { LockKey } from './lock-key.js';
import { asciiText } from './quote.js';

/** Every `code` a caller can meet. */
export type LockErrorCode =
  | 'LOCK_TIMEOUT'
  | 'LOCK_ABORTED'
  | 'LOCK_LOST'
  | 'LOCK_NOT_HELD'
  | 'INVALID_TOKEN'
  | 'LOCK_REENTRY'
  | 'DEADLOCK'
  | 'STALE_FENCE'
  | 'LOCK_UNAVAILABLE'
  | 'BACKEND_MISCONFIGURED'
  | 'BACKEND_STATE'
  | 'INVALID_KEY'
  | 'KEY_UNRESOLVED'
  | 'INVALID_OPTION'
  | 'UNSUPPORTED_TARGET'
  | 'CLOSED'
  | 'NOT_INITIALIZED';

/** What the caller was doing. */
export type LockOperation = 'acquire' | 'extend' | 'release' | 'inspect' | 'revoke';

/** Why a handle stopped being held without a release. */
export type LossReason =
  | 'expired'
  | 'not-held'
  | 'unreachable'
  | 'session-gone'
  | 'server-changed'
  | 'protocol-mismatch'
  | 'storage-lost'
  | 'max-hold'
  | 'revoked'
  | 'closed';

/** Facts every lock error may carry. */
export interface LockErrorFacts {
  readonly key?: LockKey;
  readonly operation?: LockOperation;
  readonly cause?: unknown;
}

const BRAND = Symbol.for('klock.error.v1');

/** Base of every error klock throws. Test with {@link isLockError}, which also knows errors of a second copy of the package. */
export abstract class LockError extends Error {
  /** What happened, for programs. */
  readonly code: LockErrorCode;
  /** Whether the same call may succeed later: LOCK_TIMEOUT, LOCK_UNAVAILABLE and DEADLOCK only. */
  readonly retryable: boolean;
  /** What the caller was doing, where it is known. */
  readonly operation: LockOperation | undefined;
  /** The key in question, where there is one. */
  readonly key: LockKey | undefined;
  /** @internal */
  readonly [BRAND] = true;

  constructor(code: LockErrorCode, message: string, facts: LockErrorFacts = {}) {
    super(asciiText(message), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = code === 'LOCK_TIMEOUT' || code === 'LOCK_UNAVAILABLE' || code === 'DEADLOCK';
    this.operation = facts.operation;
    this.key = facts.key;
  }

  /** The facts as plain data: fences as decimal strings, no stack, no cause. */
  toJSON(): Record<string, unknown> {
    const facts: Record<string, unknown> = { name: this.name, code: this.code, message: this.message };
    for (const [name, value] of Object.entries(this)) {
      if (name === 'name' || name === 'code' || name === 'cause' || value === undefined) continue;
      facts[name] = typeof value === 'bigint' ? value.toString() : value;
    }
    return facts;
  }
}

/** Whether a value is an error of klock, of this or another copy of the package; with a code, whether it has that code. */
export function isLockError(error: unknown, code?: LockErrorCode): error is LockError {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false;
  return code === undefined || (error as LockError).code === code;
}

/** `waitMs` is over and the store said that the key is busy. */
export class LockTimeoutError extends LockError {
  /** How long the caller waited. */
  readonly waitedMs: number;
  /** Who held the key when the wait ended, where the store could tell. */
  readonly holder: string | undefined;

  constructor(
    message: string,
    facts: LockErrorFacts & { readonly waitedMs: number; readonly holder?: string },
  ) {
    super('LOCK_TIMEOUT', message, { operation: 'acquire', ...facts });
    this.waitedMs = facts.waitedMs;
    this.holder = facts.holder;
  }
}

/** The caller's own signal ended the wait; `cause` is the signal's reason. */
export class LockAbortedError extends LockError {
  constructor(message: string, facts: LockErrorFacts) {
    super('LOCK_ABORTED', message, { operation: 'acquire', ...facts });
    // A reason may be undefined, and must still be found under `cause`.
    if (facts.cause === undefined) this.cause = undefined;
  }
}

/** Held once, not any more. */
export class LockLostError extends LockError {
  readonly reason: LossReason;
  /** The store's own word for it, such as SESSION_GONE or LOCAL_TTL_EXPIRED. */
  readonly lossCode: string;
  readonly fence: bigint | undefined;
  /** What the section returned although the lock was lost meanwhile (withLock and decorated methods). */
  readonly result: unknown;

  constructor(
    message: string,
    facts: LockErrorFacts & {
      readonly reason: LossReason;
      readonly lossCode: string;
      readonly fence?: bigint;
      readonly result?: unknown;
    },
  ) {
    super('LOCK_LOST', message, facts);
    this.reason = facts.reason;
    this.lossCode = facts.lossCode;
    this.fence = facts.fence;
    this.result = facts.result;
  }
}

/** A token call on a key that nobody holds. */
export class LockNotHeldError extends LockError {
  constructor(message: string, facts: LockErrorFacts) {
    super('LOCK_NOT_HELD', message, facts);
  }
}

/** A token call with the token of another grant. */
export class InvalidTokenError extends LockError {
  constructor(message: string, facts: LockErrorFacts) {
    super('INVALID_TOKEN', message, facts);
  }
}

/** The caller's own flow or owner already holds what it asks for (design D10). */
export class LockReentryError extends LockError {
  constructor(message: string, facts: LockErrorFacts) {
    super('LOCK_REENTRY', message, { operation: 'acquire', ...facts });
  }
}

/** A cycle of waits was found and this waiter chosen to end it. */
export class DeadlockError extends LockError {
  /** The keys of the cycle in waiting order. */
  readonly cycle: readonly LockKey[];

  constructor(message: string, facts: LockErrorFacts & { readonly cycle: readonly LockKey[] }) {
    super('DEADLOCK', message, { operation: 'acquire', ...facts });
    this.cycle = facts.cycle;
  }
}

/** A resource has seen a larger fence, or the fence is another store's. */
export class StaleFenceError extends LockError {
  readonly fence: bigint;
  readonly seen: bigint | undefined;

  constructor(message: string, facts: LockErrorFacts & { readonly fence: bigint; readonly seen?: bigint }) {
    super('STALE_FENCE', message, facts);
    this.fence = facts.fence;
    this.seen = facts.seen;
  }
}

/** The store is unreachable, draining, quarantined or over its limits: nothing was granted. */
export class LockUnavailableError extends LockError {
  /** The store's own word, such as SERVER_DRAINING or SERVER_RECOVERING; undefined where it did not answer. */
  readonly storeCode: string | undefined;

  constructor(message: string, facts: LockErrorFacts & { readonly storeCode?: string } = {}) {
    super('LOCK_UNAVAILABLE', message, facts);
    this.storeCode = facts.storeCode;
  }
}

/** The store refuses for good (credentials, rights, version), or its data contradicts itself. Retrying does not help. */
export class BackendStateError extends LockError {
  constructor(
    message: string,
    facts: LockErrorFacts & { readonly code?: 'BACKEND_MISCONFIGURED' | 'BACKEND_STATE' } = {},
  ) {
    super(facts.code ?? 'BACKEND_STATE', message, facts);
  }
}

/** A key or a part of one that cannot be used. */
export class InvalidKeyError extends LockError {
  readonly value: unknown;

  constructor(
    message: string,
    facts: LockErrorFacts & { readonly code?: 'INVALID_KEY' | 'KEY_UNRESOLVED'; readonly value: unknown },
  ) {
    super(facts.code ?? 'INVALID_KEY', message, facts);
    this.value = facts.value;
  }
}

/** An option out of range, of the wrong type, or in contradiction with another. */
export class InvalidOptionError extends LockError {
  /** Path of the option, such as `ttlMs` or `etcd.hosts`. */
  readonly option: string;
  readonly value: unknown;

  constructor(
    message: string,
    facts: LockErrorFacts & {
      readonly option: string;
      readonly value: unknown;
      readonly code?: 'INVALID_OPTION' | 'UNSUPPORTED_TARGET';
    },
  ) {
    super(facts.code ?? 'INVALID_OPTION', message, facts);
    this.option = facts.option;
    this.value = facts.value;
  }
}

/** The instance, or the application it belongs to, was closed. */
export class ClosedError extends LockError {
  constructor(message: string, facts: LockErrorFacts = {}) {
    super('CLOSED', message, facts);
  }
}

/** A decorated method ran in an object no module knows: the body was not run (design D12). */
export class NotInitializedError extends LockError {
  constructor(message: string, facts: LockErrorFacts = {}) {
    super('NOT_INITIALIZED', message, facts);
  }
}
