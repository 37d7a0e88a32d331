import type { HoldOptions, SectionOptions } from '../core/index.js';
import {
  InvalidOptionError,
  checkBoolean,
  checkDuration,
  checkLabel,
  checkOneOf,
  checkWait,
  isLockError,
  optionError,
  refuseUnknown,
} from '../core/index.js';
import { DEFAULT_INSTANCE } from './tokens.js';

/** Options of `@Locked`. All durations are whole milliseconds. */
export interface LockedOptions extends HoldOptions {
  /** How long the call may wait for the lock; 0 asks once. Default: the instance's, 10,000. */
  readonly waitMs?: number;
  /** Somebody else still holds when the wait is over: `throw` LockTimeoutError (default), or `skip` the body and resolve undefined. */
  readonly onBusy?: 'throw' | 'skip';
  /** The store cannot be asked: `throw` (default), `skip` the body, or `run-unlocked`, where `@CurrentLock()` is undefined. */
  readonly onUnavailable?: 'throw' | 'skip' | 'run-unlocked';
  /** The lock was lost before the body ended: `throw` LockLostError with the result attached (default), or `ignore` the loss. */
  readonly onLost?: 'throw' | 'ignore';
  /** The key stays taken at least this long after the grant, however short the body: for jobs fired by clocks that differ. */
  readonly atLeastMs?: number;
  /** A flow that already holds the key: `refuse` with LockReentryError (default) or `count`. */
  readonly reentry?: 'refuse' | 'count';
  /** Name of the instance. Default: the unnamed one. */
  readonly use?: string;
}

/** The options after their check: what the wrapper reads at each call. */
export interface LockedRules {
  readonly section: SectionOptions;
  readonly onBusy: 'throw' | 'skip';
  readonly onUnavailable: 'throw' | 'skip' | 'run-unlocked';
  readonly onLost: 'throw' | 'ignore';
  readonly use: string;
}

type Checks = { readonly [Name in keyof LockedOptions]-?: (name: string, value: unknown) => unknown };

const CHECKS: Checks = {
  ttlMs: checkDuration,
  renew: checkBoolean,
  localTtlMs: checkDuration,
  maxHoldMs: checkDuration,
  waitMs: checkWait,
  atLeastMs: checkDuration,
  reentry: (name, value) => checkOneOf(name, ['refuse', 'count'], value),
  onBusy: (name, value) => checkOneOf(name, ['throw', 'skip'], value),
  onUnavailable: (name, value) => checkOneOf(name, ['throw', 'skip', 'run-unlocked'], value),
  onLost: (name, value) => checkOneOf(name, ['throw', 'ignore'], value),
  use: checkLabel,
};

const SECTION_OPTIONS = [
  'ttlMs',
  'renew',
  'localTtlMs',
  'maxHoldMs',
  'waitMs',
  'atLeastMs',
  'reentry',
] as const;

/**
 * Checks the options of one decorator.
 * @param where the method, for messages and as the section's label.
 * @throws InvalidOptionError naming the method, the option and its value.
 */
export function checkLockedOptions(options: unknown, where: string): LockedRules {
  const given = asOptions(options, where);
  naming(where, () => {
    refuseUnknown('@Locked', given, Object.keys(CHECKS));
    // undefined is allowed: the instance's value then counts, as for acquire.
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined) CHECKS[name as keyof LockedOptions](name, value);
    }
  });
  return {
    section: sectionOptions(given, where),
    onBusy: given.onBusy ?? 'throw',
    onUnavailable: given.onUnavailable ?? 'throw',
    onLost: given.onLost ?? 'throw',
    use: given.use ?? DEFAULT_INSTANCE,
  };
}

function asOptions(options: unknown, where: string): LockedOptions {
  if (options === undefined) return {};
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return options;
  return naming(where, () => {
    throw optionError('options', 'an object', options);
  });
}

function sectionOptions(given: LockedOptions, where: string): SectionOptions {
  const chosen = SECTION_OPTIONS.filter((name) => given[name] !== undefined).map((name) => [
    name,
    given[name],
  ]);
  return Object.freeze({ ...(Object.fromEntries(chosen) as SectionOptions), label: where });
}

/** Says on which method the option stands: the stack of a decorator often does not. */
function naming<T>(where: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isLockError(error, 'INVALID_OPTION')) throw error;
    const { option, value } = error as InvalidOptionError;
    throw new InvalidOptionError(`@Locked on ${where}: ${error.message}`, { option, value });
  }
}
