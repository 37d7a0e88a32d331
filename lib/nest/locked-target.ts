import { InvalidOptionError } from '../core/index.js';

/** Any method, as far as the wrapper is concerned. */
export type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/** A method that can be locked, and how to put the wrapper in its place. */
export interface LockedTarget {
  readonly prototype: object;
  readonly name: string | symbol;
  /** `InvoiceService.close`, for messages. */
  readonly label: string;
  readonly method: AnyMethod;
  replace(wrapper: AnyMethod): void;
}

/**
 * Finds the method a decorator was put on.
 * @throws InvalidOptionError (UNSUPPORTED_TARGET) naming Class.member and the reason: a target that cannot be
 * locked must never become an unlocked method.
 */
export function lockedTarget(decorator: string, args: readonly unknown[]): LockedTarget {
  const [target, name, third] = args;
  refuseStandardDecorators(decorator, name);
  if (typeof target === 'function' && name === undefined)
    throw unsupported(decorator, target.name, 'is a class, not a method');
  if (typeof name !== 'string' && typeof name !== 'symbol')
    throw unsupported(decorator, String(name), 'is not a method');
  if (typeof target === 'function') {
    throw unsupported(
      decorator,
      `${target.name}.${String(name)}`,
      'is static: no application owns a class, only its objects',
    );
  }
  const prototype = target as object;
  const label = `${className(prototype)}.${String(name)}`;
  if (typeof third === 'number') throw unsupported(decorator, label, 'has the decorator on a parameter');
  return methodTarget(decorator, prototype, name, label, third as PropertyDescriptor | undefined);
}

function methodTarget(
  decorator: string,
  prototype: object,
  name: string | symbol,
  label: string,
  given: PropertyDescriptor | undefined,
): LockedTarget {
  // Some build tools pass no descriptor for methods.
  const descriptor = given ?? Object.getOwnPropertyDescriptor(prototype, name);
  if (descriptor === undefined || 'initializer' in descriptor) {
    throw unsupported(decorator, label, 'is a field: write it as a method');
  }
  if (descriptor.get !== undefined || descriptor.set !== undefined)
    throw unsupported(decorator, label, 'is an accessor');
  const method: unknown = descriptor.value;
  if (typeof method !== 'function') throw unsupported(decorator, label, 'is not a function');
  if (Object.prototype.toString.call(method) === '[object GeneratorFunction]') {
    throw unsupported(
      decorator,
      label,
      'is a synchronous generator: make it async, a lock cannot be waited for in it',
    );
  }
  const replace = (wrapper: AnyMethod): void => {
    descriptor.value = wrapper;
    if (given === undefined) Object.defineProperty(prototype, name, descriptor);
  };
  return { prototype, name, label, method: method as AnyMethod, replace };
}

/** The class a prototype belongs to, for messages. */
export function className(prototype: object): string {
  const { constructor } = prototype as { constructor?: { name?: string } };
  return constructor?.name === undefined || constructor.name === '' ? '(anonymous class)' : constructor.name;
}

function refuseStandardDecorators(decorator: string, context: unknown): void {
  if (typeof context !== 'object' || context === null || !('kind' in context)) return;
  const { kind, name } = context as { kind: unknown; name?: unknown };
  throw unsupported(
    decorator,
    `${String(kind)} ${String(name)}`,
    'was compiled with standard decorators: Nest needs "experimentalDecorators": true',
  );
}

function unsupported(decorator: string, member: string, reason: string): InvalidOptionError {
  return new InvalidOptionError(`${decorator} cannot be used here: ${member} ${reason}`, {
    code: 'UNSUPPORTED_TARGET',
    option: decorator,
    value: member,
  });
}
