import type { HolderReport, ListedHolder } from '../core/index.js';
import type { HeldLock } from '../rpc/index.js';
import { reportRoom } from './report-room.js';

/** Holders as they travel, from the first on, as many as fit into one message. */
export function heldLocks(holders: readonly (HolderReport | ListedHolder)[]): HeldLock[] {
  const fits = reportRoom();
  const locks: HeldLock[] = [];
  for (const holder of holders) {
    const lock = heldLock(holder);
    if (!fits(textsOf(lock))) break;
    locks.push(lock);
  }
  return locks;
}

function heldLock(holder: HolderReport | ListedHolder): HeldLock {
  const { key, fence, session, client = '', host = '', metadata = {}, heldMs, leaseLeftMs } = holder;
  return {
    l1: key[0],
    l2: key[1] ?? '',
    fence,
    session,
    client,
    host,
    metadata: Object.entries(metadata).map(([name, value]) => ({ name, value })),
    heldMs: whole(heldMs),
    leaseLeftMs: whole(leaseLeftMs),
    waiters: BigInt('waiters' in holder ? holder.waiters : 0),
  };
}

function textsOf({ l1, l2, session, client, host, metadata }: HeldLock): string[] {
  return [l1, l2, session, client, host, ...metadata.flatMap(({ name, value }) => [name, value])];
}

function whole(ms: number): bigint {
  return BigInt(Math.max(0, Math.round(ms)));
}
