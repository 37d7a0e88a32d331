import { InvalidOptionError } from '../core/index.js';
import { className } from './locked-target.js';

/** What a parameter of a decorated method asks for. */
export type LockParameterKind = 'lock' | 'fence';

export interface LockParameter {
  readonly index: number;
  readonly kind: LockParameterKind;
}

const PARAMETERS = Symbol.for('klock.nest.parameters.v1');
const NONE: ReadonlyMap<string | symbol, readonly LockParameter[]> = new Map();
type Holder = { [PARAMETERS]?: Map<string | symbol, LockParameter[]> };

/**
 * Gives a method decorated with `@Locked` its lock: `close(id: string, @CurrentLock() lock?: LockHandle)`.
 * The parameter is always overwritten by the wrapper, whatever a caller passes; it is undefined only while the method
 * runs under `onUnavailable: 'run-unlocked'`. The order of decorators does not matter.
 */
export function CurrentLock(): ParameterDecorator {
  return lockParameter('@CurrentLock()', 'lock');
}

/** The same for the lock's fence: `@CurrentFence() fence?: bigint`. */
export function CurrentFence(): ParameterDecorator {
  return lockParameter('@CurrentFence()', 'fence');
}

function lockParameter(decorator: string, kind: LockParameterKind): ParameterDecorator {
  return (target, name, index) => {
    if (name === undefined || typeof target === 'function') {
      const owner = typeof target === 'function' ? target.name : className(target);
      throw new InvalidOptionError(
        `${decorator} works on parameters of methods only, not on ${owner}.${String(name ?? 'constructor')}`,
        {
          code: 'UNSUPPORTED_TARGET',
          option: decorator,
          value: owner,
        },
      );
    }
    const methods = ownParameters(target);
    methods.set(name, [...(methods.get(name) ?? []), { index, kind }]);
  };
}

/** Parameters that the wrapper fills, of the methods a class declares itself. */
export function parametersOf(prototype: object): ReadonlyMap<string | symbol, readonly LockParameter[]> {
  return Object.hasOwn(prototype, PARAMETERS) ? (prototype as Required<Holder>)[PARAMETERS] : NONE;
}

function ownParameters(prototype: object): Map<string | symbol, LockParameter[]> {
  if (!Object.hasOwn(prototype, PARAMETERS))
    Object.defineProperty(prototype, PARAMETERS, { value: new Map() });
  return (prototype as Required<Holder>)[PARAMETERS];
}

/** The arguments with every asked-for lock in its place; the caller's own array is left alone. */
export function fillParameters(
  args: readonly unknown[],
  parameters: readonly LockParameter[] | undefined,
  values: Readonly<Record<LockParameterKind, unknown>>,
): readonly unknown[] {
  if (parameters === undefined) return args;
  const filled = [...args];
  for (const { index, kind } of parameters) {
    while (filled.length < index) filled.push(undefined);
    filled[index] = values[kind];
  }
  return filled;
}
