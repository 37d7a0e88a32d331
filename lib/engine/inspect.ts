import {
  maskId,
  type HolderReport,
  type LockKey,
  type LockReport,
  type WaiterReport,
} from '../core/index.js';
import { MAX_REPORTED } from './engine-options.js';
import type { EngineState } from './engine-state.js';
import type { L1Node, L2Node } from './lock-node.js';
import type { Request } from './request.js';
import type { Placed } from './table-entry.js';

/** Who holds the key or something that conflicts with it, and who waits; the first 100 of each. */
export function inspect(state: EngineState, key: LockKey, nowMs: number): LockReport {
  const tree = state.table.tree(key[0]);
  if (tree === undefined) return { key, locked: false, holders: [], waiters: [], waiterCount: 0 };
  const l2 = key.length === 2 ? key[1] : undefined;
  const below = l2 === undefined ? tree.children() : only(tree.child(l2));
  const holders: HolderReport[] = [];
  const waiting: Placed[] = [];
  if (tree.writer !== undefined && alive(tree.writer, nowMs))
    holders.push(holder(nowMs, tree.writer as Request));
  for (const child of below) {
    if (child.holder !== undefined && alive(child.holder, nowMs) && holders.length < MAX_REPORTED) {
      holders.push(holder(nowMs, child.holder as Request));
    }
    addWaiters(waiting, child, l2);
  }
  waiting.sort((a, b) => a.arrival - b.arrival);
  addWaiters(waiting, tree, l2);
  return {
    key,
    locked: holders.length > 0,
    holders,
    waiters: waiting.slice(0, MAX_REPORTED).map((entry) => waiter(nowMs, entry as Request)),
    waiterCount: l2 === undefined ? tree.waiters : tree.exclusiveWaiters + (tree.child(l2)?.waiters ?? 0),
  };
}

/** Whether what it rests on still lasts: a lease or kept key that is over but not yet ended holds nothing. */
export function alive(entry: Placed, nowMs: number): boolean {
  const request = entry as Request;
  return nowMs < endOf(request);
}

function endOf(request: Request): number {
  return request.kept ? request.dueMs : request.session.dueMs;
}

/** Adds up to 100 of a queue, leaving out those for other keys than `l2`. */
function addWaiters(waiting: Placed[], queue: L1Node | L2Node, l2: string | undefined): void {
  let added = 0;
  for (let entry = queue.head; entry !== undefined && added < MAX_REPORTED; entry = entry.behind) {
    if (l2 !== undefined && entry.l2 !== undefined && entry.l2 !== l2) continue;
    waiting.push(entry);
    added++;
  }
}

/** One holder as reports name it. */
export function holder(nowMs: number, request: Request): HolderReport {
  const { grant, session } = request;
  return {
    key: request.key,
    fence: grant?.fence ?? 0n,
    session: maskId(session.id),
    ...(session.client === undefined ? {} : { client: session.client }),
    ...(session.host === undefined ? {} : { host: session.host }),
    ...(request.metadata === undefined ? {} : { metadata: request.metadata }),
    heldMs: nowMs - (grant?.grantedAtMs ?? nowMs),
    leaseLeftMs: endOf(request) - nowMs,
  };
}

function waiter(nowMs: number, request: Request): WaiterReport {
  const { session } = request;
  return {
    key: request.key,
    session: maskId(session.id),
    ...(session.client === undefined ? {} : { client: session.client }),
    waitedMs: nowMs - request.sinceMs,
  };
}

function only(child: L2Node | undefined): readonly L2Node[] {
  return child === undefined ? [] : [child];
}
