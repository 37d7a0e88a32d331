import type { LockKey } from '../../core/index.js';
import { INSPECT_ENTRIES } from './bounds.js';
import { readEntry, type Entry } from './entry.js';
import { ASCEND, BY_CREATE_REVISION } from './messages.js';
import { METHODS } from './methods.js';
import type { Store } from './store.js';
import { withGuard } from './take-back.js';

/** The entries of exactly this key, the first of them first: a holder stands before all who wait. @throws StoreRefusal, Unanswered */
export async function entriesOf(store: Store, key: LockKey, budgetMs: number): Promise<readonly Entry[]> {
  const range = store.keys.own(key);
  const { reply } = await store.calls.call(
    METHODS.range,
    {
      key: range.key,
      range_end: range.end,
      limit: INSPECT_ENTRIES,
      sort_order: ASCEND,
      sort_target: BY_CREATE_REVISION,
    },
    { budgetMs },
  );
  return reply.kvs.map((kv) => readEntry(kv, store.keys)).filter((entry) => entry !== undefined);
}

/**
 * Ends a grant that was found by its token, if it is still as it was read: a held entry is never written again, so an
 * unchanged revision means an unchanged token. False: it had ended before. @throws StoreRefusal, Unanswered
 */
export async function removeGrant(store: Store, entry: Entry, budgetMs: number): Promise<boolean> {
  let copies = 0;
  // Whether its acquire was sent twice is known to its client alone: the guard is written in any case.
  const reply = await withGuard(store, true, async (guard) => {
    const request = store.transactions.release(entry, entry.modRevision, guard);
    return (await store.calls.call(METHODS.txn, request, { budgetMs, sending: () => void copies++ })).reply;
  });
  // An earlier copy may have ended it and its answer been lost: it stood there when the first was sent.
  return reply.succeeded || copies > 1;
}
