import {
  BackendStateError,
  formatKey,
  optionError,
  quote,
  refuseUnknown,
  type FenceProof,
} from '../core/index.js';
import {
  checkProof,
  checkStores,
  foreignFence,
  staleFence,
  storeNameOf,
  type FenceStore,
  type FenceStoreOptions,
} from './fence-store.js';
import { fenceTable, type FenceTable } from './fence-table.js';
import type { SqlValue } from './sql-fragment.js';

/** Runs one statement with `$1` placeholders and gives its rows, or an object with `rows`. */
export type SqlQuery = (text: string, values: SqlValue[]) => PromiseLike<unknown>;

export interface SqlFenceStoreOptions extends FenceStoreOptions {
  /**
   * On the connection of the transaction that writes: `(text, values) => client.query(text, values)`. On any other
   * connection the decision and the write are two steps, between which another writer fits.
   */
  readonly query: SqlQuery;
  /** Name of the high-water table. Default `klock_fence`. */
  readonly table?: string;
}

/**
 * A fence store over a high-water table of PostgreSQL ({@link fenceTable}): pg, TypeORM, Knex, Prisma. Cheap to make, one
 * for each transaction. Writes of one L1 tree wait for each other from here to their commit, so accept last.
 * @throws InvalidOptionError
 */
export function sqlFenceStore(options: SqlFenceStoreOptions): FenceStore {
  refuseUnknown('sqlFenceStore', options, ['stores', 'query', 'table']);
  if (typeof options.query !== 'function') throw optionError('query', 'a function', options.query);
  return new SqlFenceStore(checkStores(options.stores), options.query, fenceTable(options.table));
}

class SqlFenceStore implements FenceStore {
  constructor(
    readonly stores: readonly string[] | undefined,
    private readonly query: SqlQuery,
    private readonly table: FenceTable,
  ) {}

  async accept(given: FenceProof): Promise<void> {
    const proof = checkProof(given);
    const store = storeNameOf(proof, this.stores);
    const { text, values } = this.table.accept(proof, store).numbered();
    const row = onlyRow(await this.query(text, values));
    if (row === undefined) {
      throw new BackendStateError(`the fence table did not answer for ${formatKey(proof.key)}`, {
        key: proof.key,
      });
    }
    if (row.accepted === true) return;
    if (typeof row.store === 'string' && row.store !== store) throw foreignFence(proof, quote(row.store));
    throw staleFence(proof, seenAbove(proof.fence, row.seen));
  }
}

interface Row {
  readonly accepted?: unknown;
  readonly seen?: unknown;
  readonly store?: unknown;
}

function onlyRow(result: unknown): Row | undefined {
  const rows: unknown = Array.isArray(result)
    ? result
    : (result as { rows?: unknown } | null | undefined)?.rows;
  const row: unknown = Array.isArray(rows) ? rows[0] : undefined;
  return typeof row === 'object' && row !== null && 'accepted' in row ? row : undefined;
}

/** Read before the wait for another writer was over, so it may be older than what refused. */
function seenAbove(fence: bigint, seen: unknown): bigint | undefined {
  if (typeof seen !== 'string' || !/^\d{1,19}$/.test(seen)) return undefined;
  const mark = BigInt(seen);
  return mark > fence ? mark : undefined;
}
