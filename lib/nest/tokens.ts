import { Inject } from '@nestjs/common';

/** Name of the instance that is meant where none is given. */
export const DEFAULT_INSTANCE = 'default';

/**
 * The injection token of an instance: the unnamed one, or the one registered under `name`.
 * By `Symbol.for`, so that two copies of the package in one application mean the same provider. Its text is what Nest
 * shows where it is missing.
 */
export function getKlockToken(name: string = DEFAULT_INSTANCE): symbol {
  return Symbol.for(`klock.instance:${name}, made by KlockModule.forRoot()`);
}

/** Injects an instance: `constructor(@InjectKlock() private readonly klock: Klock) {}`. */
export function InjectKlock(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getKlockToken(name));
}

/** The instance itself, where {@link getKlockToken} may mean a feature module's view of it. */
export function rootInstanceToken(name: string): symbol {
  return Symbol.for(`klock.root-instance:${name}`);
}

/** Null; the testing kit puts a function from a name to a ready instance in its place, which then replaces what options ask for. */
export const INSTANCE_OVERRIDE = Symbol.for('klock.nest.instance-override.v1');

/** The registry of the whole application. */
export const ROOT_REGISTRY = Symbol.for('klock.nest.root-registry.v1');

/** The registry as one module sees it: a feature module may put a view in front. */
export const REGISTRY = Symbol.for('klock.nest.registry.v1');
