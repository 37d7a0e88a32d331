import { assert, optionError } from '../core/index.js';
import { IdleNodes } from './idle-nodes.js';
import { L1Node, type L2Node } from './lock-node.js';
import type { Placed, TableEntry } from './table-entry.js';

export interface LockTableOptions {
  /**
   * Accepted for programs that set it, without effect: in one thread there is no lock to split.
   * Default 0.
   * @throws InvalidOptionError for anything but a whole number from 0.
   */
  readonly shards?: number;
}

/**
 * Who holds which key and who waits for it, in two levels: an L1 excludes every L2 below it, both ways; different L2
 * are independent. Arrival order, apart from runs of L2 requests that are admitted together.
 *
 * Pure and synchronous; knows no owner, session or time. Every operation costs the same however many hold or wait.
 * What has neither holder nor waiter leaves no trace.
 */
export class LockTable<E extends Placed = TableEntry> {
  private readonly nodes = new Map<string, L1Node>();
  /** The node that was looked for last: one request looks for its node more than once. */
  private latest: L1Node | undefined = undefined;
  private readonly idleTrees = new IdleNodes<L1Node>();
  private readonly idleKeys = new IdleNodes<L2Node>();
  /** Nodes that may have something to grant once the table opens again. */
  private readonly pending = new Set<L1Node | L2Node>();
  private arrivals = 0;
  private opened = true;
  private heldCount = 0;
  private waitingCount = 0;

  /** @param onGrant is told of each waiter that now holds, inside the call that made it so; it must not call the table's moving methods. */
  constructor(
    private readonly onGrant: (entry: E) => void,
    options: LockTableOptions = {},
  ) {
    const { shards = 0 } = options;
    if (!Number.isSafeInteger(shards) || shards < 0) {
      throw optionError('shards', 'a whole number, 0 or more', shards);
    }
  }

  /** Entries that hold. */
  get held(): number {
    return this.heldCount;
  }

  /** Entries that wait. */
  get waiting(): number {
    return this.waitingCount;
  }

  /** Trees with a holder or a waiter. */
  get trees(): number {
    return this.nodes.size - this.idleTrees.size;
  }

  /** Whether entries are granted at all; see {@link close}. */
  get open(): boolean {
    return this.opened;
  }

  /** Takes the key if nobody holds, and no earlier one waits for, anything that conflicts with it. Never queues. */
  tryAcquire(entry: E): boolean {
    assert(entry.stage === 'out', 'an entry asks while it neither waits nor holds');
    if (!this.opened) return false;
    const node = this.find(entry.l1) ?? this.addNode(entry.l1);
    if (node.writer !== undefined || node.head !== undefined) return false;
    if (!(entry.l2 === undefined ? this.takeTree(node, entry) : this.takeKey(node, entry, entry.l2)))
      return false;
    this.idleTrees.take(node);
    entry.node = node;
    entry.stage = 'held';
    this.heldCount++;
    return true;
  }

  /**
   * Puts an entry in line and grants it if nothing stands before it. One that was withdrawn comes back under its
   * old arrival number: before those who came later, but undoing nothing that was granted meanwhile.
   */
  enqueue(entry: E): void {
    assert(entry.stage === 'out', 'an entry is queued while it neither waits nor holds');
    if (entry.arrival === 0) entry.arrival = ++this.arrivals;
    const node = this.find(entry.l1) ?? this.addNode(entry.l1);
    this.idleTrees.take(node);
    entry.node = node;
    if (entry.l2 !== undefined) entry.child = node.child(entry.l2) ?? this.addKey(node, entry.l2);
    this.countWaiter(entry, 1);
    entry.stage = 'l1-queue';
    node.insert(entry);
    if (node.head === entry) this.wakeTree(node);
  }

  /** `tryAcquire`, then `enqueue`. Returns whether the entry holds. */
  acquire(entry: E): boolean {
    if (this.tryAcquire(entry)) return true;
    this.enqueue(entry);
    return entry.stage === 'held';
  }

  /** A holder gives back; whoever may follow is granted at once. Does nothing unless the entry holds. Returns whether it did. */
  release(entry: E): boolean {
    if (entry.stage !== 'held') return false;
    const { node, child } = entry;
    assert(node !== undefined, 'a holder has a node');
    this.heldCount--;
    this.leave(entry);
    if (child !== undefined) {
      this.freeKey(node, child, entry);
    } else {
      assert(node.writer === entry, 'an L1 holder is the writer of its tree');
      node.writer = undefined;
    }
    this.wakeTree(node);
    return true;
  }

  /** Takes a waiter out of line; whoever it alone stood before is granted at once. Does nothing unless it waits. Returns whether it did. */
  withdraw(entry: E): boolean {
    if (entry.stage !== 'l1-queue' && entry.stage !== 'l2-queue') return false;
    const { node, child, stage } = entry;
    assert(node !== undefined, 'a waiter has a node');
    this.countWaiter(entry, -1);
    this.leave(entry);
    if (stage === 'l1-queue') {
      node.remove(entry);
    } else {
      assert(child !== undefined, 'a waiter in an L2 queue has a key');
      child.remove(entry);
      node.readers--;
    }
    if (child?.empty) this.dropKey(child);
    this.wakeTree(node);
    return true;
  }

  /** From now on nothing is granted; requests, releases and withdrawals go on. */
  close(): void {
    this.opened = false;
  }

  /** Grants again, first what could not be granted meanwhile. Stops if `onGrant` closes the table. */
  reopen(): void {
    if (this.opened) return;
    this.opened = true;
    for (const node of this.pending) {
      if (!this.opened) return;
      this.pending.delete(node);
      if (node instanceof L1Node) this.wakeTree(node);
      else this.wakeKey(node);
    }
  }

  /** Whether anybody holds the key or something that conflicts with it. */
  isLocked(l1: string, l2?: string): boolean {
    const node = this.find(l1);
    if (node === undefined) return false;
    if (node.writer !== undefined) return true;
    if (l2 !== undefined) return node.child(l2)?.holder !== undefined;
    // While the table is open nobody is admitted to a tree in which nobody holds.
    if (this.opened || node.readers === 0) return node.readers > 0;
    for (const child of node.children()) if (child.holder !== undefined) return true;
    return false;
  }

  /** Waiters for exactly the key of `entry`. */
  waitersFor(entry: E): number {
    const node = this.find(entry.l1);
    if (node === undefined) return 0;
    return entry.l2 === undefined ? node.exclusiveWaiters : (node.child(entry.l2)?.waiters ?? 0);
  }

  /** The tree of `l1` while it has a holder or waiter: for reports. */
  tree(l1: string): L1Node | undefined {
    const node = this.find(l1);
    return node === undefined || node.idleSlot !== undefined ? undefined : node;
  }

  /** Every tree with a holder or waiter: for reports. */
  *allTrees(): IterableIterator<L1Node> {
    for (const node of this.nodes.values()) if (node.idleSlot === undefined) yield node;
  }

  private find(l1: string): L1Node | undefined {
    const { latest } = this;
    return latest?.l1 === l1 ? latest : (this.latest = this.nodes.get(l1));
  }

  private addNode(l1: string): L1Node {
    const node = new L1Node(l1);
    this.nodes.set(l1, node);
    return (this.latest = node);
  }

  private addKey(node: L1Node, l2: string): L2Node {
    const child = node.addChild(l2);
    this.idleKeys.take(child);
    return child;
  }

  private takeTree(node: L1Node, entry: E): boolean {
    if (node.readers > 0) return false;
    node.writer = entry;
    return true;
  }

  private takeKey(node: L1Node, entry: E, l2: string): boolean {
    if (node.child(l2) !== undefined) return false;
    entry.child = this.addKey(node, l2);
    entry.child.holder = entry;
    node.readers++;
    return true;
  }

  private freeKey(node: L1Node, child: L2Node, entry: E): void {
    assert(child.holder === entry, 'an L2 holder is the holder of its key');
    child.holder = undefined;
    node.readers--;
    this.wakeKey(child);
  }

  private leave(entry: Placed): void {
    entry.stage = 'out';
    entry.node = undefined;
    entry.child = undefined;
  }

  private countWaiter(entry: Placed, change: 1 | -1): void {
    this.waitingCount += change;
    if (entry.node !== undefined) {
      entry.node.waiters += change;
      if (entry.child === undefined) entry.node.exclusiveWaiters += change;
    }
    if (entry.child !== undefined) entry.child.waiters += change;
  }

  /**
   * Admits from the head of a tree's queue whatever may go: a run of L2 requests while no L1 holds, or one L1 request
   * while nobody is admitted. Called after every change, so that nobody waits without something that conflicts.
   */
  private wakeTree(node: L1Node): void {
    for (let head = node.head; head !== undefined; head = node.head) {
      if (node.writer !== undefined) return;
      if (head.child === undefined && node.readers > 0) return;
      if (!this.opened) {
        this.pending.add(node);
        return;
      }
      node.remove(head);
      if (head.child === undefined) {
        node.writer = head;
        this.grant(head);
        return;
      }
      node.readers++;
      this.admit(head, head.child);
    }
    if (node.empty) this.dropTree(node);
  }

  private admit(entry: Placed, child: L2Node): void {
    entry.stage = 'l2-queue';
    child.insert(entry);
    this.wakeKey(child);
  }

  private wakeKey(child: L2Node): void {
    const { head } = child;
    if (child.holder !== undefined) return;
    if (head === undefined) {
      if (child.waiters === 0) this.dropKey(child);
      return;
    }
    if (!this.opened) {
      this.pending.add(child);
      return;
    }
    child.remove(head);
    child.holder = head;
    this.grant(head);
  }

  private grant(entry: Placed): void {
    this.countWaiter(entry, -1);
    entry.stage = 'held';
    this.heldCount++;
    this.onGrant(entry as E);
  }

  private dropKey(child: L2Node): void {
    if (this.pending.size > 0) this.pending.delete(child);
    if (child.idleSlot !== undefined || !child.parent.keeps(child)) return;
    const gone = this.idleKeys.add(child);
    if (gone !== undefined) gone.parent.removeChild(gone);
  }

  private dropTree(node: L1Node): void {
    if (this.pending.size > 0) this.pending.delete(node);
    if (node.idleSlot !== undefined) return;
    const gone = this.idleTrees.add(node);
    if (gone === undefined) return;
    this.nodes.delete(gone.l1);
    if (this.latest === gone) this.latest = undefined;
  }
}
