import {
  maskId,
  type HolderReport,
  type LockKey,
  type LockReport,
  type WaiterReport,
} from '../../core/index.js';
import { INSPECT_ENTRIES, INSPECT_LEASES, REPORT_WAITERS } from './bounds.js';
import { leaseName, readEntry, type Entry } from './entry.js';
import { ASCEND, BY_CREATE_REVISION } from './messages.js';
import { METHODS } from './methods.js';
import { fenceOf } from './fence.js';
import type { Store } from './store.js';

/** Who holds a key or something that conflicts, and who waits, from the keys themselves. @throws StoreRefusal, Unanswered */
export async function reportOn(store: Store, key: LockKey, budgetMs: number): Promise<LockReport> {
  const { entries, unread } = await readAll(store, key, budgetMs);
  const holding = entries.filter(({ state }) => state !== 'waiting');
  const waiting = entries.filter(({ state }) => state === 'waiting');
  const holders = await reportHolders(store, holding, budgetMs);
  const nowMs = store.clock.wallMs();
  return {
    key,
    locked: holding.length > 0,
    holders,
    waiters: waiting.slice(0, REPORT_WAITERS).map((entry) => waiterReport(entry, nowMs)),
    waiterCount: waiting.length + unread,
  };
}

/** Holders as people read them. @throws StoreRefusal, Unanswered */
export async function reportHolders(
  store: Store,
  holding: readonly Entry[],
  budgetMs: number,
): Promise<readonly HolderReport[]> {
  const left = await leasesLeft(store, holding, budgetMs);
  const nowMs = store.clock.wallMs();
  return holding.map((entry) => holderReport(entry, nowMs, left.get(entry.leaseId) ?? 0));
}

async function readAll(
  store: Store,
  key: LockKey,
  budgetMs: number,
): Promise<{ readonly entries: readonly Entry[]; readonly unread: number }> {
  const success = store.keys.conflicting(key).map((range) => ({
    request_range: {
      key: range.key,
      range_end: range.end,
      limit: INSPECT_ENTRIES,
      sort_order: ASCEND,
      sort_target: BY_CREATE_REVISION,
    },
  }));
  const { reply } = await store.calls.call(METHODS.txn, { success }, { budgetMs });
  const found = reply.responses.map(({ response_range: read }) => read);
  const entries = found
    .flatMap((read) => read?.kvs ?? [])
    .map((kv) => readEntry(kv, store.keys))
    .filter((entry) => entry !== undefined)
    .sort((a, b) => Number(a.createRevision - b.createRevision));
  const unread = found.reduce((sum, read) => sum + Number(read?.count ?? 0n) - (read?.kvs.length ?? 0), 0);
  return { entries, unread };
}

/** Milliseconds left of each holder's lease, as far as the bound on questions goes. */
async function leasesLeft(
  store: Store,
  holding: readonly Entry[],
  budgetMs: number,
): Promise<ReadonlyMap<bigint, number>> {
  const ids = [...new Set(holding.map(({ leaseId }) => leaseId))].slice(0, INSPECT_LEASES);
  const left = new Map<bigint, number>();
  await Promise.all(
    ids.map(async (ID) => {
      const { reply } = await store.calls.call(METHODS.leaseTimeToLive, { ID }, { budgetMs });
      left.set(ID, Math.max(0, Number(reply.TTL) * 1_000));
    }),
  );
  return left;
}

function holderReport(entry: Entry, nowMs: number, leaseLeftMs: number): HolderReport {
  return {
    key: entry.key,
    fence: fenceOf(entry.grantRevision === undefined ? entry.modRevision : BigInt(entry.grantRevision)),
    session: maskId(leaseName(entry.leaseId)),
    ...(entry.client === undefined ? undefined : { client: entry.client }),
    ...(entry.metadata === undefined ? undefined : { metadata: entry.metadata }),
    heldMs: Math.max(0, nowMs - (entry.grantedAtMs ?? nowMs)),
    leaseLeftMs,
  };
}

function waiterReport(entry: Entry, nowMs: number): WaiterReport {
  return {
    key: entry.key,
    session: maskId(leaseName(entry.leaseId)),
    ...(entry.client === undefined ? undefined : { client: entry.client }),
    waitedMs: Math.max(0, nowMs - entry.queuedAtMs),
  };
}
