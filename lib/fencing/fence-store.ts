import { InvalidOptionError, MAX_FENCE, StaleFenceError, formatKey, parseKey, quote } from '../core/index.js';
import { checkLabel, optionError, type FenceProof } from '../core/index.js';

/**
 * What a resource remembers of the fences it was written with: the check that makes a lock safe against writes that arrive
 * after it was lost.
 */
export interface FenceStore {
  /** Names of the lock store whose fences are taken; undefined: that of the first one accepted. */
  readonly stores: readonly string[] | undefined;
  /**
   * Decides in one atomic step whether a write under this grant may go on, and remembers its fence. Per L1 there are two
   * marks, of writes by L1 holders and of all, and one per L2; an equal fence passes, since it is the same grant.
   * @throws StaleFenceError: a larger conflicting fence was seen, or the fence is another store's. InvalidOptionError for a
   * proof that is none. Whatever the resource's own storage throws: then the write was not accepted.
   */
  accept(proof: FenceProof): Promise<void>;
}

/** Options that all fence stores share. */
export interface FenceStoreOptions {
  /**
   * Names of the lock store whose fences are comparable, as its clients spell it, such as `klock:lock-1:8080`. Several
   * are several spellings of one store. Default: the store of the first fence accepted, for good.
   */
  readonly stores?: readonly string[];
}

const MAX_STORE_NAMES = 16;

/** The names after their check. @throws InvalidOptionError */
export function checkStores(stores: unknown): readonly string[] | undefined {
  if (stores === undefined) return undefined;
  if (!Array.isArray(stores) || stores.length < 1 || stores.length > MAX_STORE_NAMES) {
    throw optionError('stores', `an array of 1 to ${MAX_STORE_NAMES} names`, stores);
  }
  return Object.freeze(stores.map((name: unknown, index) => checkLabel(`stores[${index}]`, name)));
}

/** A proof as fence stores take it. @throws InvalidOptionError, InvalidKeyError */
export function checkProof(proof: FenceProof): FenceProof {
  const { fence, key, store } = (proof ?? {}) as Partial<FenceProof>;
  if (typeof fence !== 'bigint' || fence < 1n || fence > MAX_FENCE) {
    // A number has lost bits already where it matters.
    throw optionError('fence', 'a bigint from 1 to 2^63 - 1', fence);
  }
  if (typeof store !== 'string' || store === '')
    throw optionError('store', 'the name of a lock store', store);
  if (key === undefined) throw optionError('key', 'the key of the grant', key);
  return { fence, key: parseKey(key), store };
}

/** The store's one name, for marks that remember it. @throws StaleFenceError if it is none of those allowed. */
export function storeNameOf(proof: FenceProof, stores: readonly string[] | undefined): string {
  if (stores === undefined) return proof.store;
  if (stores.includes(proof.store)) return stores[0] as string;
  throw foreignFence(proof, stores.map((name) => quote(name)).join(', '));
}

/** A fence that cannot be compared with those seen. */
export function foreignFence(proof: FenceProof, expected: string): StaleFenceError {
  return new StaleFenceError(
    `fence ${proof.fence} of ${formatKey(proof.key)} comes from the store ${quote(proof.store)}, but this resource takes those of ${expected}`,
    { key: proof.key, fence: proof.fence },
  );
}

/** A fence below one that was seen. */
export function staleFence(proof: FenceProof, seen: bigint | undefined): StaleFenceError {
  const mark = seen === undefined ? 'a larger one was seen' : `${seen} was seen`;
  return new StaleFenceError(
    `fence ${proof.fence} of ${formatKey(proof.key)} is stale: ${mark}. The lock it belongs to was lost`,
    { key: proof.key, fence: proof.fence, ...(seen === undefined ? undefined : { seen }) },
  );
}

/** @throws InvalidOptionError unless it can accept. */
export function checkFenceStore(store: unknown): FenceStore {
  if (typeof (store as Partial<FenceStore> | null | undefined)?.accept === 'function')
    return store as FenceStore;
  throw new InvalidOptionError(
    `store must be a fence store, such as memoryFenceStore(), got ${quote(store)}`,
    {
      option: 'store',
      value: store,
    },
  );
}
