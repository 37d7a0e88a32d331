import type { HolderPage, PageOptions } from '../core/index.js';
import { MAX_REPORTED } from './engine-options.js';
import type { EngineState } from './engine-state.js';
import { alive, holder } from './inspect.js';
import type { L1Node } from './lock-node.js';
import type { Request } from './request.js';

interface Found {
  readonly request: Request;
  readonly fence: bigint;
  readonly waiters: number;
}

/**
 * The holders with the smallest fences above one: those that have held longest. Fences only rise, so the next page begins
 * where this one ended, whatever has come and gone meanwhile.
 */
export function listHolders(state: EngineState, page: PageOptions, nowMs: number): HolderPage {
  const { afterFence = 0n, limit = MAX_REPORTED } = page;
  const most = Math.min(limit, MAX_REPORTED);
  const eldest = new Eldest(most + 1);
  for (const tree of state.table.allTrees()) {
    for (const found of holdersOf(tree)) {
      if (found.fence > afterFence && alive(found.request, nowMs)) eldest.offer(found);
    }
  }
  const found = eldest.taken();
  const holders = found
    .slice(0, most)
    .map(({ request, waiters }) => ({ ...holder(nowMs, request), waiters }));
  return { holders, more: found.length > most };
}

function* holdersOf(tree: L1Node): Iterable<Found> {
  if (tree.writer !== undefined) yield found(tree.writer as Request, tree.waiters);
  for (const child of tree.children()) {
    if (child.holder !== undefined)
      yield found(child.holder as Request, tree.exclusiveWaiters + child.waiters);
  }
}

function found(request: Request, waiters: number): Found {
  return { request, fence: request.grant?.fence ?? 0n, waiters };
}

/** The few smallest of many: kept in a list that is sorted and cut each time it has twice the length. */
class Eldest {
  private list: Found[] = [];
  private cut: bigint | undefined = undefined;

  constructor(private readonly few: number) {}

  offer(found: Found): void {
    if (this.cut !== undefined && found.fence >= this.cut) return;
    this.list.push(found);
    if (this.list.length < 2 * this.few) return;
    this.list = this.taken();
    this.cut = this.list.at(-1)?.fence;
  }

  taken(): Found[] {
    return this.list.sort((a, b) => (a.fence < b.fence ? -1 : 1)).slice(0, this.few);
  }
}
