import type { LockedRules } from './locked-options.js';

/** What the application checks about a decorated method before it is ever called. */
export interface LockedMethodFacts {
  readonly label: string;
  readonly rules: LockedRules;
}

const METHODS = Symbol.for('klock.nest.methods.v1');
type Holder = { [METHODS]?: Map<string | symbol, LockedMethodFacts[]> };

/** Notes a decorated method on its class. */
export function noteLockedMethod(prototype: object, name: string | symbol, facts: LockedMethodFacts): void {
  if (!Object.hasOwn(prototype, METHODS)) Object.defineProperty(prototype, METHODS, { value: new Map() });
  const methods = (prototype as Required<Holder>)[METHODS];
  methods.set(name, [...(methods.get(name) ?? []), facts]);
}

/** The decorated methods that a class declares itself. */
export function lockedMethodsOf(
  prototype: object,
): ReadonlyMap<string | symbol, readonly LockedMethodFacts[]> {
  return Object.hasOwn(prototype, METHODS) ? (prototype as Required<Holder>)[METHODS] : new Map();
}
