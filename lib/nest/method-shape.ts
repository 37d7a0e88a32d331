import { Observable } from 'rxjs';
import type { LockedTarget } from './locked-target.js';

/** What a method gives its caller; `unknown` where neither its syntax nor its annotated type says so. */
export type Shape = 'promise' | 'observable' | 'iterable' | 'unknown';

type Metadata = typeof Reflect & {
  getMetadata?(key: string, target: object, name: string | symbol): unknown;
};

/**
 * What the wrapper must give before the method has run. Read at the first call, when all decorators have been applied.
 */
export function shapeOf({ method, prototype, name }: LockedTarget): Shape {
  switch (Object.prototype.toString.call(method)) {
    case '[object AsyncFunction]':
      return 'promise';
    case '[object AsyncGeneratorFunction]':
      return 'iterable';
  }
  const returned: unknown = (Reflect as Metadata).getMetadata?.('design:returntype', prototype, name);
  if (returned === Promise) return 'promise';
  return isObservableClass(returned) ? 'observable' : 'unknown';
}

function isObservableClass(type: unknown): boolean {
  if (typeof type !== 'function') return false;
  // By its methods too: the application may have another copy of rxjs.
  const prototype = type.prototype as Partial<Observable<unknown>> | undefined;
  return (
    type === Observable ||
    (typeof prototype?.subscribe === 'function' && typeof prototype.pipe === 'function')
  );
}

/** The iterator objects of async generators. */
export function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, unknown> {
  return Object.prototype.toString.call(value) === '[object AsyncGenerator]';
}

/** Whether `for await` works on it. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/**
 * What an async method may resolve to and must not lose its lock over: an async generator's iterator, or that of a message
 * bus, as GraphQL subscriptions return it. A stream of Node or a database cursor can be iterated too, but is used in other
 * ways, which a wrapper around the iteration would take away.
 */
export function isAsyncIterator(value: unknown): value is AsyncIterableIterator<unknown> {
  if (!isAsyncIterable(value) || 'on' in value) return false;
  const { next, return: end } = value as Partial<AsyncIterator<unknown>>;
  return typeof next === 'function' && typeof end === 'function';
}
