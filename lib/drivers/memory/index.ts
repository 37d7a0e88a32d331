import type { LockDriver } from '../../core/index.js';
import type { LocalStore } from './local-store.js';
import { MemoryDriver } from './memory-driver.js';
import { MemoryStore } from './memory-store.js';

export type { LateAnswer, LocalStore } from './local-store.js';
export { MemoryDriver } from './memory-driver.js';
export { MemoryStore } from './memory-store.js';

/**
 * Locks inside this process, nothing to install: the embedded default, and the store of tests.
 * Exclusion holds between instances over one store; fences rise for the life of the process only.
 * @param options.store share one to let several instances exclude each other; default a new one.
 */
export function memoryDriver(options: { readonly store?: LocalStore } = {}): LockDriver {
  return new MemoryDriver(options.store ?? new MemoryStore());
}

/** A store for {@link memoryDriver}. */
export function memoryStore(): MemoryStore {
  return new MemoryStore();
}
