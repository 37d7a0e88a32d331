import { StoreRefusal } from './call-failure.js';
import type { EtcdGrant } from './etcd-session.js';
import { METHODS } from './methods.js';
import { graceMs, type Store } from './store.js';

/** What became of a grant whose entry was said to be deleted. */
export type EntryFate =
  /** It is there, seen at this revision. */
  | { readonly fate: 'there'; readonly revision: bigint }
  /** It is gone and its lease lives: somebody deleted it. `word`: what its guard says, if there is one. */
  | { readonly fate: 'deleted'; readonly word: string | undefined }
  | { readonly fate: 'lease-gone' }
  /** The grant has ended otherwise meanwhile, or the store does not say. */
  | { readonly fate: 'over' };

/** Watches are hints: a deletion is believed once the store itself says so (design D8). Never rejects. */
export async function entryFate(store: Store, grant: EtcdGrant): Promise<EntryFate> {
  const { session } = grant;
  const isHeld = (): boolean => session.alive && session.grants.has(grant);
  while (isHeld()) {
    try {
      const fate = await ask(store, grant);
      return isHeld() ? fate : { fate: 'over' };
    } catch (error) {
      if (error instanceof StoreRefusal) break;
    }
  }
  return { fate: 'over' };
}

async function ask({ calls, keys }: Store, { seat, session, revision }: EtcdGrant): Promise<EntryFate> {
  const options = { budgetMs: graceMs(calls.timeoutMs) };
  const { reply } = await calls.call(METHODS.range, { key: seat.name }, options);
  if (reply.kvs.length > 0) return { fate: 'there', revision: reply.header?.revision ?? revision };
  const { reply: guard } = await calls.call(METHODS.range, { key: keys.guard(seat.requestId) }, options);
  const word = guard.kvs[0]?.value.toString('utf8');
  const { reply: lease } = await calls.call(METHODS.leaseTimeToLive, { ID: session.leaseId }, options);
  // Whole seconds left: 0 in the last one, below where there is no such lease.
  return lease.TTL >= 0n ? { fate: 'deleted', word } : { fate: 'lease-gone' };
}
