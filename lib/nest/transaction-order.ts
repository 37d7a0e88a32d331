import type { Logger } from '@nestjs/common';
import { checkBoolean, optionError, refuseUnknown } from '../core/index.js';
import { className } from './locked-target.js';
import { lockedMethodsOf } from './locked-methods.js';

/** Options of {@link asTransaction}. */
export interface AsTransactionOptions {
  /** The method keeps its lock over the commit itself, by `lock.holdUntil(...)`: nothing is to be warned of. Default false. */
  readonly holdsUntilCommit?: boolean;
}

const OUTSIDE = Symbol.for('klock.nest.transaction-outside.v1');
type Holder = { [OUTSIDE]?: Map<string | symbol, string> };

/**
 * Makes known that a decorator runs its method in a transaction: `const InTransaction = () => asTransaction(Transactional())`.
 * Where such a decorator stands above `@Locked`, the lock is given back before the transaction commits, and the next
 * holder reads what is not committed yet: the application then warns at its start.
 * @throws InvalidOptionError
 */
export function asTransaction(
  decorator: MethodDecorator,
  options: AsTransactionOptions = {},
): MethodDecorator {
  refuseUnknown('asTransaction', options, ['holdsUntilCommit']);
  if (typeof decorator !== 'function') throw optionError('decorator', 'a method decorator', decorator);
  const { holdsUntilCommit = false } = options;
  const isSafe = checkBoolean('holdsUntilCommit', holdsUntilCommit);
  return (target, name, descriptor) => {
    // Decorators are applied from below: what is locked by now is locked inside.
    if (!isSafe && lockedMethodsOf(target).has(name)) noteOutside(target, name);
    return decorator(target, name, descriptor);
  };
}

function noteOutside(prototype: object, name: string | symbol): void {
  if (!Object.hasOwn(prototype, OUTSIDE)) Object.defineProperty(prototype, OUTSIDE, { value: new Map() });
  (prototype as Required<Holder>)[OUTSIDE].set(name, `${className(prototype)}.${String(name)}`);
}

/** Warns of every method of a class that is locked inside its transaction; once for each class among `warned`. */
export function warnOfTransactions(prototype: object, logger: Logger, warned: WeakSet<object>): void {
  const methods = Object.hasOwn(prototype, OUTSIDE) ? (prototype as Required<Holder>)[OUTSIDE] : undefined;
  if (methods === undefined || warned.has(prototype)) return;
  warned.add(prototype);
  for (const label of methods.values()) {
    logger.warn(
      `${label}: the transaction stands above @Locked, so the lock is given back before the commit and the next holder reads old data. Put @Locked on top; or keep the lock with lock.holdUntil(...) and say holdsUntilCommit: true`,
    );
  }
}
