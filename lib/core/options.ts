import { InvalidOptionError } from './errors.js';
import { MAX_DURATION_MS, MAX_LABEL_BYTES, MAX_METADATA_BYTES, MAX_METADATA_ENTRIES } from './limits.js';
import type { LockHandle, LockOwner } from './lock-handle.js';
import { utf8Length } from './lock-key.js';
import type { LockDriver } from './lock-driver.js';
import { quote } from './quote.js';
import type { Telemetry } from './telemetry.js';

/** How a lock is held. All durations are whole milliseconds from 1 to 2^31 - 1. */
export interface HoldOptions {
  /** Length of the lease. Default 10,000. */
  readonly ttlMs?: number;
  /** Whether the lock is renewed while held. Default true; with false it is lost after `ttlMs`. */
  readonly renew?: boolean;
  /** Fixed local validity: the handle is lost this long after the grant, renewed or not. At most lease - margin. */
  readonly localTtlMs?: number;
  /** Longest hold: the handle is lost with reason `max-hold` after it. No default. */
  readonly maxHoldMs?: number;
}

/** How a grant is waited for. */
export interface WaitOptions {
  /** How long in all; 0 asks once, Infinity waits until aborted or closed. Default 10,000. */
  readonly waitMs?: number;
  /** Length of one attempt. Default 20,000. */
  readonly attemptMs?: number;
  /** Ends the wait; it does not end the lock later. */
  readonly signal?: AbortSignal;
}

export interface TryOptions extends HoldOptions {
  readonly signal?: AbortSignal;
  /** Re-enter as this owner, or as the owner of this handle. */
  readonly owner?: LockOwner | LockHandle;
  /** What happens when the flow or owner already holds the key. Default `refuse`. */
  readonly reentry?: 'refuse' | 'count';
  /** Labels shown by `inspect`; at most 16 entries and 2,048 bytes. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface AcquireOptions extends TryOptions, WaitOptions {}

export interface InstanceOptions extends HoldOptions, Omit<WaitOptions, 'signal'> {
  /** Put before every key of this instance, with `/` between; must not contain `/`. */
  readonly namespace?: string;
  /** A label for logs and reports; never an identity. */
  readonly clientName?: string;
  /** Default: a third of the lease. */
  readonly renewEveryMs?: number;
  /** Default min(renewEveryMs, time left). */
  readonly renewTimeoutMs?: number;
  /** Safety margin taken off every lease. Default max(10, a tenth of the lease). */
  readonly marginMs?: number;
  /** How long a release may delay its caller. Default 1,000. */
  readonly releaseTimeoutMs?: number;
  readonly reentry?: 'refuse' | 'count';
  /** Passing a lock on inside the process. Default true where the driver can. */
  readonly handover?: boolean;
  readonly telemetry?: Telemetry;
}

export type KlockOptions = InstanceOptions & {
  readonly driver: LockDriver;
  /** Names the instance in messages and logs. Default `default`. */
  readonly name?: string;
};

export const DEFAULT_TTL_MS = 10_000;
export const DEFAULT_WAIT_MS = 10_000;
export const DEFAULT_ATTEMPT_MS = 20_000;
export const DEFAULT_RELEASE_TIMEOUT_MS = 1_000;
export const DEFAULT_GRACE_MS = 10_000;
export const DEFAULT_HOLD_UNTIL_MS = 60_000;

/** An error that names an option, what it must be, and what it was. */
export function optionError(option: string, rule: string, value: unknown): InvalidOptionError {
  return new InvalidOptionError(`${option} must be ${rule}, got ${quote(value)}`, { option, value });
}

/** Returns a duration: a whole number of milliseconds from 1 to 2^31 - 1, never rounded or coerced. */
export function checkDuration(option: string, value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_DURATION_MS)
    return value as number;
  throw optionError(option, `a whole number of milliseconds from 1 to ${MAX_DURATION_MS}`, value);
}

/** Returns a wait: a duration, 0 (ask once) or Infinity (until aborted or closed). */
export function checkWait(option: string, value: unknown): number {
  if (value === 0 || value === Infinity) return value;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_DURATION_MS)
    return value as number;
  throw optionError(
    option,
    `0, Infinity or a whole number of milliseconds from 1 to ${MAX_DURATION_MS}`,
    value,
  );
}

export function checkBoolean(option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw optionError(option, 'true or false', value);
}

export function checkOneOf<const T extends string>(option: string, allowed: readonly T[], value: unknown): T {
  if (allowed.includes(value as T)) return value as T;
  throw optionError(option, allowed.map((word) => `'${word}'`).join(' or '), value);
}

/** Returns a label: well-formed, printable, 1 to 128 bytes. */
export function checkLabel(option: string, value: unknown): string {
  if (
    typeof value === 'string' &&
    value !== '' &&
    utf8Length(value) <= MAX_LABEL_BYTES &&
    !/[\p{Cs}\p{Cc}]/u.test(value)
  ) {
    return value;
  }
  throw optionError(option, `a string of 1 to ${MAX_LABEL_BYTES} bytes without control characters`, value);
}

/** Returns a namespace or prefix: a label without `/`, since `/` ends it in the key. */
export function checkKeyPrefix(option: string, value: unknown): string {
  const label = checkLabel(option, value);
  if (label.includes('/')) throw optionError(option, "a string without '/'", value);
  return label;
}

export function checkSignal(option: string, value: unknown): AbortSignal {
  const signal = value as Partial<AbortSignal> | null | undefined;
  if (
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function'
  ) {
    return signal as AbortSignal;
  }
  throw optionError(option, 'an AbortSignal', value);
}

export function checkMetadata(value: unknown): Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw optionError('metadata', 'an object of strings', value);
  const entries = Object.entries(value as Record<string, unknown>);
  if (entries.length > MAX_METADATA_ENTRIES)
    throw optionError('metadata', `at most ${MAX_METADATA_ENTRIES} entries`, entries.length);
  let bytes = 0;
  for (const [name, text] of entries) {
    if (typeof text !== 'string') throw optionError(`metadata.${name}`, 'a string', text);
    // Half of a surrogate pair would reach the store as something else.
    if (/\p{Cs}/u.test(name + text)) throw optionError('metadata', 'well-formed Unicode', `${name}: ${text}`);
    bytes += utf8Length(name) + utf8Length(text);
  }
  if (bytes > MAX_METADATA_BYTES)
    throw optionError('metadata', `at most ${MAX_METADATA_BYTES} bytes in all`, bytes);
  return Object.freeze({ ...(value as Record<string, string>) });
}

/** Refuses what is no object, and options nobody knows: a misspelt one would silently change nothing. */
export function refuseUnknown(what: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw optionError('options', `an object of options of ${what}`, options);
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new InvalidOptionError(`${what} has no option ${quote(name)}; known are ${known.join(', ')}`, {
      option: name,
      value: (options as Record<string, unknown>)[name],
    });
  }
}

/** Safety margin of a lease unless set: a tenth, at least 10 ms (design D2). */
export function defaultMarginMs(leaseMs: number): number {
  return Math.max(10, Math.ceil(leaseMs / 10));
}
