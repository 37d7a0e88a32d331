import type { Observable } from 'rxjs';
import type { KeyInput } from '../core/index.js';
import { asAnything } from './any-shape.js';
import { declareBinding } from './binding.js';
import { assumeIdentity } from './function-identity.js';
import { readArguments } from './key-source.js';
import { LockedCall, type LockedMethod } from './locked-call.js';
import { asIterable } from './locked-iterable.js';
import { noteLockedMethod } from './locked-methods.js';
import { checkLockedOptions, type LockedOptions } from './locked-options.js';
import { asPromise } from './locked-promise.js';
import { asObservable } from './locked-stream.js';
import { lockedTarget, type AnyMethod, type LockedTarget } from './locked-target.js';
import { shapeOf, type Shape } from './method-shape.js';

/** What a method must return to be locked: something its caller waits for. */
export type Lockable = PromiseLike<unknown> | Observable<unknown> | AsyncIterable<unknown>;

/** A decorator for methods whose first parameters the key function accepts. */
export type LockedDecorator<A extends readonly unknown[]> = <M extends (...args: never[]) => Lockable>(
  target: object,
  name: string | symbol,
  method: TypedPropertyDescriptor<M> &
    (Parameters<M> extends readonly [...A, ...unknown[]] ? unknown : { readonly keyFunctionDoesNotFit: A }),
) => void;

/**
 * Runs a method only while its lock is held.
 *
 * The key is a function of the arguments, or one or two templates in which `{0}` is the first argument and `{0.id}` its
 * `id`; interpolated values are escaped. It is used as it is within the instance's namespace: two methods with the same
 * key exclude each other.
 *
 * A promise is awaited, an Observable holds from subscription to its end, an async iterator from the first step to the
 * last. Name, length and the metadata of other decorators are kept, in either order. In plain JavaScript a synchronous
 * method becomes one that returns a promise.
 * @throws InvalidOptionError, InvalidKeyError when the class is defined; at the call NotInitializedError without
 * `KlockModule`, KEY_UNRESOLVED, LockTimeoutError, LockUnavailableError and LockLostError, as the options say.
 */
// The function form comes first: behind the string forms TypeScript infers string[] for (a) => [a.x, a.y] and refuses it.
export function Locked<A extends readonly unknown[]>(
  key: (...args: A) => KeyInput,
  options?: LockedOptions,
): LockedDecorator<A>;
export function Locked(l1: string, options?: LockedOptions): LockedDecorator<[]>;
export function Locked(l1: string, l2: string, options?: LockedOptions): LockedDecorator<[]>;
export function Locked(...given: readonly unknown[]): LockedDecorator<[]> {
  return ((...decorated: readonly unknown[]) =>
    lock(lockedTarget('@Locked', decorated), given)) as LockedDecorator<[]>;
}

function lock(target: LockedTarget, given: readonly unknown[]): void {
  const { keyOf, options } = readArguments(given, target.label);
  const method: LockedMethod = { target, keyOf, rules: checkLockedOptions(options, target.label) };
  const wrapper = wrapperOf(method);
  assumeIdentity(wrapper, target.method);
  target.replace(wrapper);
  declareBinding(target.prototype);
  noteLockedMethod(target.prototype, target.name, { label: target.label, rules: method.rules });
}

const AS: Readonly<Record<Shape, (call: LockedCall) => unknown>> = {
  promise: asPromise,
  observable: asObservable,
  iterable: asIterable,
  unknown: asAnything,
};

function wrapperOf(method: LockedMethod): AnyMethod {
  let shape: Shape | undefined;
  return function (this: unknown, ...args: unknown[]): unknown {
    shape ??= shapeOf(method.target);
    return AS[shape](new LockedCall(method, this, args));
  };
}
