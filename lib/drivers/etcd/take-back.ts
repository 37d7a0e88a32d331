import { ROUND_MS } from './bounds.js';
import { METHODS } from './methods.js';
import { StoreRefusal } from './call-failure.js';
import type { EtcdSession } from './etcd-session.js';
import type { Store } from './store.js';
import type { GuardPut, Seat } from './transactions.js';

/**
 * Takes a request back whatever became of it, asking again until the store has answered or the lease it rests on is
 * over: its entry goes with that, and a late copy of it is refused. Never rejects.
 * @returns true once the store has confirmed that nothing is left, false if only the lease's end is left to do so.
 */
export async function takeBack(
  store: Store,
  session: EtcdSession,
  seat: Seat,
  guarded: boolean,
): Promise<boolean> {
  return await session.during(async () => {
    while (session.alive) {
      try {
        await removeEntry(store, seat, guarded);
        return true;
      } catch (error) {
        if (error instanceof StoreRefusal && error.kind !== 'lease-gone') return refused(store, error);
      }
    }
    return false;
  });
}

async function removeEntry(store: Store, seat: Seat, guarded: boolean): Promise<void> {
  await withGuard(store, guarded, async (guard) => {
    const request = store.transactions.cancel(seat, guard);
    await store.calls.call(METHODS.txn, request, { budgetMs: ROUND_MS });
  });
}

/** Runs `work` with a lease for its guard, where one is needed. */
export async function withGuard<T>(
  store: Store,
  guarded: boolean,
  work: (guard: GuardPut | undefined) => Promise<T>,
): Promise<T> {
  if (!guarded) return await work(undefined);
  const guard = await store.guards.take(ROUND_MS);
  try {
    return await work(guard);
  } catch (error) {
    if (error instanceof StoreRefusal && error.kind === 'lease-gone') store.guards.forget();
    throw error;
  }
}

function refused(store: Store, error: StoreRefusal): boolean {
  store.host.warn(
    'CLEAN_UP_REFUSED',
    'etcd refused to take a request back; its entry stays until the session ends',
    error,
  );
  return false;
}
