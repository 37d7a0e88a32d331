import type { AnyMethod } from './locked-target.js';

const OWN = new Set<string | symbol>(['length', 'name', 'prototype', 'arguments', 'caller']);

type Metadata = typeof Reflect & {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
};

/**
 * Makes a wrapper look like the method it stands for: name, length, properties, and all metadata that decorators
 * below it wrote. Decorators above write on the wrapper itself, since it is what the prototype now holds.
 */
export function assumeIdentity(wrapper: AnyMethod, method: AnyMethod): void {
  for (const key of ['name', 'length'] as const) {
    Object.defineProperty(wrapper, key, { value: method[key], configurable: true });
  }
  for (const key of Reflect.ownKeys(method)) {
    if (!OWN.has(key))
      Object.defineProperty(wrapper, key, Object.getOwnPropertyDescriptor(method, key) as PropertyDescriptor);
  }
  copyMetadata(wrapper, method);
  // What is written on the method later, by someone who kept a reference to it, shows through.
  Object.setPrototypeOf(wrapper, method);
}

function copyMetadata(wrapper: AnyMethod, method: AnyMethod): void {
  const metadata = Reflect as Metadata;
  // Absent where reflect-metadata was not loaded; then there is nothing to keep.
  for (const key of metadata.getOwnMetadataKeys?.(method) ?? []) {
    metadata.defineMetadata?.(key, metadata.getOwnMetadata?.(key, method), wrapper);
  }
}
