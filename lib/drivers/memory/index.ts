import { optionError, refuseUnknown, type LockDriver } from '../../core/index.js';
import type { LocalStore } from './local-store.js';
import { MemoryDriver } from './memory-driver.js';
import { MemoryStore } from './memory-store.js';

export type { LocalStore } from './local-store.js';
export { MemoryDriver } from './memory-driver.js';
export { MemoryStore } from './memory-store.js';

/**
 * Locks inside this process, nothing to install: the embedded default, and the store of tests.
 * Exclusion holds between instances over one store; fences rise for the life of the process only.
 * @param options.store share one to let several instances exclude each other; left out, a new one.
 * @throws InvalidOptionError for a `store` that is none, undefined included.
 */
export function memoryDriver(options: { readonly store?: LocalStore } = {}): LockDriver {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('memoryDriver', options, ['store']);
  return new MemoryDriver('store' in options ? checkStore(options.store) : new MemoryStore());
}

/** A store that was meant and is missing would leave instances with locks of their own, excluding nobody (design D12). */
function checkStore(store: LocalStore | undefined): LocalStore {
  if (typeof store?.apply === 'function') return store;
  throw optionError('store', 'a store, such as memoryStore()', store);
}

/** A store for {@link memoryDriver}. */
export function memoryStore(): MemoryStore {
  return new MemoryStore();
}
