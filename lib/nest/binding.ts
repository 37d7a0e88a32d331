import { Inject, Optional } from '@nestjs/common';
import type { Registry } from './registry.js';
import { REGISTRY } from './tokens.js';

/** The property under which an object knows the registry of its application. */
type Bound = { [REGISTRY]?: Registry };

/** Objects that cannot take a property: frozen or sealed by their class. */
const sealedObjects = new WeakMap<object, Registry>();

/**
 * Prepares a class with decorated methods: Nest then injects the registry into every object it makes, whatever its scope.
 * Optional: without the module the application starts, and the method itself refuses, naming what is missing.
 */
export function declareBinding(prototype: object): void {
  if (REGISTRY in prototype) return;
  Object.defineProperty(prototype, REGISTRY, {
    configurable: true,
    get(this: object) {
      return sealedObjects.get(this);
    },
    set(this: object, registry: Registry) {
      bind(this, registry);
    },
  });
  Inject(REGISTRY)(prototype, REGISTRY);
  Optional()(prototype, REGISTRY);
}

/** Whether a value has decorated methods, so that it needs a registry. */
export function isBindable(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return REGISTRY in value;
  } catch {
    // A proxy may refuse to be asked.
    return false;
  }
}

/**
 * Tells an object its application. The property is not enumerable, so that it shows in no comparison or log;
 * a proxy of the object shows it as well. An object shared by two applications stays with the first until that is closed.
 */
export function bind(object: object, registry: Registry): void {
  const known = (object as Bound)[REGISTRY];
  if (known === registry || (known !== undefined && !known.closed)) return;
  if (Object.isExtensible(object)) {
    Object.defineProperty(object, REGISTRY, {
      value: registry,
      configurable: true,
      writable: true,
      enumerable: false,
    });
  } else {
    sealedObjects.set(object, registry);
  }
}

/** The registry an object was told, if any. */
export function registryOf(object: unknown): Registry | undefined {
  return object === undefined || object === null ? undefined : (object as Bound)[REGISTRY];
}
