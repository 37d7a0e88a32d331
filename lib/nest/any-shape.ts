import { type Observable, defer, isObservable, mergeMap, observable as interop, of, from } from 'rxjs';
import type { LockedCall } from './locked-call.js';
import { asIterable } from './locked-iterable.js';
import { asPromise } from './locked-promise.js';
import { asObservable } from './locked-stream.js';
import { isAsyncIterable } from './method-shape.js';

type Shapeless = Promise<unknown> & Partial<Observable<unknown>> & AsyncIterable<unknown>;

/**
 * The call of a method that does not say what it returns: no `async`, and a return type that was inferred.
 * What the method gives is known only once it runs, and it must not run before its lock is held. So the caller gets a
 * promise that can also be subscribed and iterated: used as a stream in the turn of the call, it is one, and the lock is
 * taken at the subscription; otherwise the call starts at the end of that turn.
 */
export function asAnything(call: LockedCall): Shapeless {
  let used: Observable<unknown> | AsyncGenerator<unknown> | undefined;
  let started = false;
  const promise = new Promise<unknown>((resolve, reject) => {
    queueMicrotask(() => {
      started = true;
      // The promise of a call that is used as a stream must not stay open for ever.
      if (used !== undefined) resolve(used);
      else asPromise(call).then(resolve, reject);
    });
  });
  const stream = (): Observable<unknown> => {
    if (started && used === undefined) return later(promise);
    used ??= asObservable(call);
    return isObservable(used) ? used : from(used);
  };
  const iteration = (): AsyncGenerator<unknown, unknown, unknown> => {
    if (started && used === undefined) return iterateLater(promise);
    used ??= asIterable(call);
    return isObservable(used) ? iterateLater(Promise.resolve(used)) : used;
  };
  return Object.defineProperties(promise, {
    ...streamMembers(stream),
    ...iterationMembers(iteration),
  }) as Shapeless;
}

function streamMembers(stream: () => Observable<unknown>): PropertyDescriptorMap {
  return {
    ...members(stream, ['subscribe', 'pipe', 'lift', 'forEach']),
    [interop]: { value: stream, configurable: true },
  };
}

function iterationMembers(iteration: () => AsyncGenerator<unknown>): PropertyDescriptorMap {
  return {
    ...members(iteration, ['next', 'return', 'throw']),
    [Symbol.asyncIterator]: { value: iteration, configurable: true },
  };
}

function members(shape: () => object, names: readonly string[]): PropertyDescriptorMap {
  const member = (name: string): PropertyDescriptor => ({
    configurable: true,
    value: (...args: unknown[]) => {
      const made = shape() as Record<string, (...args: unknown[]) => unknown>;
      return made[name]?.(...args);
    },
  });
  return Object.fromEntries(names.map((name) => [name, member(name)]));
}

function later(promise: Promise<unknown>): Observable<unknown> {
  // Another promise: rxjs would ask this one for its stream, and be sent here again.
  const plain = (): Promise<unknown> => promise.then((value) => value);
  return defer(plain).pipe(mergeMap((value) => (isObservable(value) ? value : of(value))));
}

async function* iterateLater(promise: Promise<unknown>): AsyncGenerator<unknown, unknown, unknown> {
  const value = await promise;
  if (isAsyncIterable(value)) return (yield* value as AsyncGenerator<unknown>) as unknown;
  return value;
}
