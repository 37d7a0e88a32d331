import type { LockKey } from '../../core/index.js';
import { BY_CREATE_REVISION, DESCEND, type KeyValue } from './messages.js';
import { PREDECESSORS } from './bounds.js';
import { readEntry, type Entry } from './entry.js';
import type { KeyRange } from './key-space.js';
import { METHODS } from './methods.js';
import type { Store } from './store.js';

/**
 * The last entry of klock before a revision that conflicts with the key, however many keys that are not klock's stand
 * between. Undefined: none, and none can come, since revisions only grow.
 * @throws StoreRefusal, Unanswered
 */
export async function findAhead(
  store: Store,
  key: LockKey,
  createRevision: bigint,
  budgetMs: number,
): Promise<Entry | undefined> {
  let last: Entry | undefined;
  for (const range of store.keys.conflicting(key)) {
    const found = await lastOf(store, range, createRevision, budgetMs);
    if (found !== undefined && found.createRevision > (last?.createRevision ?? 0n)) last = found;
  }
  return last;
}

async function lastOf(
  store: Store,
  { key, end }: KeyRange,
  createRevision: bigint,
  budgetMs: number,
): Promise<Entry | undefined> {
  let before = createRevision;
  for (;;) {
    const { reply } = await store.calls.call(
      METHODS.range,
      {
        key,
        range_end: end,
        limit: PREDECESSORS * 64n,
        sort_order: DESCEND,
        sort_target: BY_CREATE_REVISION,
        max_create_revision: before - 1n,
      },
      { budgetMs },
    );
    const entry = reply.kvs.map((kv) => readEntry(kv, store.keys)).find((found) => found !== undefined);
    if (entry !== undefined || !reply.more) return entry;
    before = (reply.kvs.at(-1) as KeyValue).create_revision;
  }
}
