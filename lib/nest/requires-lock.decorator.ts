import {
  InvalidOptionError,
  LockNotHeldError,
  NotInitializedError,
  checkLabel,
  formatKey,
  isLockError,
  optionError,
  refuseUnknown,
  type KeyInput,
  type Klock,
  type LockKey,
} from '../core/index.js';
import { declareBinding, registryOf } from './binding.js';
import { checkedMethod } from './checked-shapes.js';
import { assumeIdentity } from './function-identity.js';
import { readArguments } from './key-source.js';
import { lockedTarget, type LockedTarget } from './locked-target.js';
import { DEFAULT_INSTANCE } from './tokens.js';

/** Options of `@RequiresLock`. */
export interface RequiresLockOptions {
  /** Name of the instance. Default: the unnamed one. */
  readonly use?: string;
}

/** A decorator for methods whose first parameters the key function accepts. */
export type RequiresLockDecorator<A extends readonly unknown[]> = <M extends (...args: never[]) => unknown>(
  target: object,
  name: string | symbol,
  method: TypedPropertyDescriptor<M> &
    (Parameters<M> extends readonly [...A, ...unknown[]] ? unknown : { readonly keyFunctionDoesNotFit: A }),
) => void;

/**
 * Runs a method only inside a flow that holds the lock, or the L1 above it: called from within `@Locked` or `withLock`. It
 * takes no lock itself. The key is written as for `@Locked`; the method may be synchronous.
 *
 * Held means now, by this flow: neither a lock that was lost meanwhile nor one of another flow counts.
 * @throws InvalidOptionError, InvalidKeyError when the class is defined; at the call LockNotHeldError, KEY_UNRESOLVED,
 * NotInitializedError without `KlockModule`.
 */
export function RequiresLock<A extends readonly unknown[]>(
  key: (...args: A) => KeyInput,
  options?: RequiresLockOptions,
): RequiresLockDecorator<A>;
export function RequiresLock(l1: string, options?: RequiresLockOptions): RequiresLockDecorator<[]>;
export function RequiresLock(
  l1: string,
  l2: string,
  options?: RequiresLockOptions,
): RequiresLockDecorator<[]>;
export function RequiresLock(...given: readonly unknown[]): RequiresLockDecorator<[]> {
  return (...decorated: readonly unknown[]) => {
    demand(lockedTarget('@RequiresLock', decorated), given);
  };
}

function demand(target: LockedTarget, given: readonly unknown[]): void {
  const { keyOf, options } = readArguments(given, target.label, '@RequiresLock');
  const use = checkUse(options, target.label);
  const wrapper = checkedMethod(target, (self, args) =>
    assertHeld(target.label, instanceOf(self, use, target), keyOf(args)),
  );
  assumeIdentity(wrapper, target.method);
  target.replace(wrapper);
  declareBinding(target.prototype);
}

function assertHeld(label: string, klock: Klock | undefined, key: LockKey): void {
  if (klock?.current(key) !== undefined) return;
  throw new LockNotHeldError(
    `${label} was not run, since its flow does not hold ${formatKey(key)}: call it inside @Locked or withLock of this key${key.length === 2 ? ' or of its L1' : ''}`,
    { key },
  );
}

/** Undefined while it is being opened: then nobody holds anything through it. */
function instanceOf(self: unknown, use: string, { label }: LockedTarget): Klock | undefined {
  const registry = registryOf(self);
  const found = registry?.find(use);
  if (registry !== undefined && found !== undefined) return found instanceof Promise ? undefined : found;
  const missing =
    registry === undefined
      ? 'its object belongs to no Nest application that imports KlockModule'
      : `no imported KlockModule makes the instance '${use}' (there are: ${registry.names.join(', ') || 'none'})`;
  throw new NotInitializedError(`${label} was not run, since it requires a lock and ${missing}`);
}

function checkUse(options: unknown, where: string): string {
  if (options === undefined) return DEFAULT_INSTANCE;
  try {
    if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
    refuseUnknown('@RequiresLock', options, ['use']);
    const { use } = options as RequiresLockOptions;
    return use === undefined ? DEFAULT_INSTANCE : checkLabel('use', use);
  } catch (error) {
    if (!isLockError(error, 'INVALID_OPTION')) throw error;
    const { option, value } = error as InvalidOptionError;
    throw new InvalidOptionError(`@RequiresLock on ${where}: ${error.message}`, { option, value });
  }
}
