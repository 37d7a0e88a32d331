import type { HolderReport, LockKey, RevokeOptions } from '../../core/index.js';
import { INSPECT_ENTRIES, REPORT_WAITERS, REVOKED_AT_ONCE } from './bounds.js';
import { readEntry, type Entry } from './entry.js';
import { reportHolders } from './etcd-report.js';
import { covers } from './fence.js';
import type { KeyRange } from './key-space.js';
import { METHODS } from './methods.js';
import type { Store } from './store.js';
import { withGuard } from './take-back.js';

/** What was ended: all entries, and the first of them as people read them. */
export interface Revoked {
  readonly entries: readonly Entry[];
  readonly holders: readonly HolderReport[];
}

/**
 * Deletes the entries that hold a key, each if it is still as it was read: a held entry is never written again but to be
 * kept, so nobody else's grant is met. @throws StoreRefusal, Unanswered
 */
export async function revokeEntries(
  store: Store,
  key: LockKey,
  options: RevokeOptions,
  budgetMs: number,
): Promise<Revoked> {
  const { fence, below = false } = options;
  const holding = await holdingEntries(
    store,
    below ? store.keys.conflicting(key) : [store.keys.own(key)],
    budgetMs,
  );
  const meant = holding.filter((entry) => fence === undefined || covers(entry, fence));
  // Before they go: their leases may end with them.
  const holders = await reportHolders(store, meant.slice(0, REPORT_WAITERS), budgetMs);
  const entries: Entry[] = [];
  for (let at = 0; at < meant.length; at += REVOKED_AT_ONCE) {
    const batch = meant.slice(at, at + REVOKED_AT_ONCE);
    const ended = await Promise.all(batch.map((entry) => remove(store, entry, budgetMs)));
    entries.push(...batch.filter((_, index) => ended[index]));
  }
  return { entries, holders: holders.filter((_, index) => entries.includes(meant[index] as Entry)) };
}

/** Entries that are held or kept, the oldest first, read in pages by name. */
async function holdingEntries(
  store: Store,
  ranges: readonly KeyRange[],
  budgetMs: number,
): Promise<readonly Entry[]> {
  const holding: Entry[] = [];
  for (const { key: start, end } of ranges) {
    let more = true;
    for (let key = start; more;) {
      const request = { key, range_end: end, limit: INSPECT_ENTRIES };
      const { reply } = await store.calls.call(METHODS.range, request, { budgetMs });
      for (const kv of reply.kvs) {
        const entry = readEntry(kv, store.keys);
        if (entry !== undefined && entry.state !== 'waiting') holding.push(entry);
      }
      const last = reply.kvs.at(-1);
      more = reply.more && last !== undefined;
      // The next name there can be.
      if (last !== undefined) key = Buffer.concat([last.key, Buffer.of(0)]);
    }
  }
  return holding.sort((a, b) => Number(a.createRevision - b.createRevision));
}

/** False: it had ended before. The guard says why, for its holder to read, and keeps late copies of its acquire out. */
async function remove(store: Store, entry: Entry, budgetMs: number): Promise<boolean> {
  let copies = 0;
  const { reply } = await withGuard(store, true, async (guard) => {
    const request = store.transactions.release(
      entry,
      entry.modRevision,
      guard && { ...guard, word: 'revoked' },
    );
    return await store.calls.call(METHODS.txn, request, { budgetMs, sending: () => void copies++ });
  });
  // An earlier copy may have ended it and its answer been lost: it stood there when the first was sent.
  return reply.succeeded || copies > 1;
}
