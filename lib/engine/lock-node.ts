import type { Idle } from './idle-nodes.js';
import type { Placed } from './table-entry.js';
import { WaitQueue } from './wait-queue.js';

/** One key [l1, l2] with a holder or a waiter. Its queue holds the waiters that its L1 node has admitted. */
export class L2Node extends WaitQueue implements Idle {
  idleSlot: number | undefined = undefined;
  holder: Placed | undefined = undefined;
  /** Waiters for exactly this key, in this queue or still in that of the L1 node. */
  waiters = 0;

  constructor(
    readonly parent: L1Node,
    readonly l2: string,
  ) {
    super();
  }

  get empty(): boolean {
    return this.holder === undefined && this.waiters === 0;
  }
}

/** One tree: the key [l1] and every [l1, l2] below it. Its queue holds the waiters not yet admitted. */
export class L1Node extends WaitQueue implements Idle {
  /** Holds the whole tree. */
  writer: Placed | undefined = undefined;
  /** Requests for keys below that were admitted: their holders, and those that wait in an L2 queue. */
  readers = 0;
  /** Waiters of the whole tree. */
  waiters = 0;
  /** Those among them that want the whole tree. */
  exclusiveWaiters = 0;
  idleSlot: number | undefined = undefined;
  /** Most trees have one key in use at a time: a map for it would cost more than the lock. Stays when empty, for the next. */
  private firstChild: L2Node | undefined = undefined;
  private otherChildren: Map<string, L2Node> | undefined = undefined;

  constructor(readonly l1: string) {
    super();
  }

  get empty(): boolean {
    return this.writer === undefined && this.readers === 0 && this.head === undefined;
  }

  child(l2: string): L2Node | undefined {
    const first = this.firstChild;
    const child = first?.l2 === l2 ? first : this.otherChildren?.get(l2);
    return child === undefined || child.empty ? undefined : child;
  }

  addChild(l2: string): L2Node {
    const first = this.firstChild;
    if (first?.l2 === l2) return first;
    const known = this.otherChildren?.get(l2);
    if (known !== undefined) return known;
    const child = new L2Node(this, l2);
    if (first === undefined || first.empty) this.firstChild = child;
    else (this.otherChildren ??= new Map()).set(l2, child);
    return child;
  }

  /** Whether it stands in the map, so that somebody has to take it out one day. */
  keeps(child: L2Node): boolean {
    return this.firstChild !== child && this.otherChildren?.get(child.l2) === child;
  }

  removeChild(child: L2Node): void {
    if (this.keeps(child)) this.otherChildren?.delete(child.l2);
  }

  /** Every key below that is in use. */
  *children(): IterableIterator<L2Node> {
    if (this.firstChild?.empty === false) yield this.firstChild;
    for (const child of this.otherChildren?.values() ?? []) if (!child.empty) yield child;
  }
}
