import { assert } from '../core/index.js';
import type { TableEntry } from './table-entry.js';

/**
 * Waiters of one node in the order of their arrival numbers. The links live in the entries: joining at the end,
 * leaving from anywhere and reading the head cost the same however many wait.
 */
export class WaitQueue {
  head: TableEntry | undefined = undefined;
  private tail: TableEntry | undefined = undefined;
  /** The entry last inserted before the end. */
  private finger: TableEntry | undefined = undefined;

  /** Puts an entry where its arrival number belongs: nearly always the end. */
  insert(entry: TableEntry): void {
    assert(entry.arrival > 0, 'a waiter has an arrival number');
    if (this.tail === undefined || this.tail.arrival < entry.arrival) {
      this.link(entry, this.tail, undefined);
      return;
    }
    const later = this.firstAfter(entry.arrival);
    this.link(entry, later?.before, later);
    this.finger = entry;
  }

  /** Takes an entry of this queue out. */
  remove(entry: TableEntry): void {
    const { before, after } = entry;
    if (this.finger === entry) this.finger = before;
    if (before === undefined) this.head = after;
    else before.after = after;
    if (after === undefined) this.tail = before;
    else after.before = before;
    entry.before = undefined;
    entry.after = undefined;
  }

  /**
   * The first entry that arrived after `arrival`. Started at the finger where that is nearer than the head: whoever
   * comes back after a broken connection does so in order, and would otherwise walk the whole queue for each request.
   */
  private firstAfter(arrival: number): TableEntry | undefined {
    const { finger } = this;
    let entry = finger !== undefined && finger.arrival < arrival ? finger : this.head;
    while (entry !== undefined && entry.arrival < arrival) entry = entry.after;
    return entry;
  }

  private link(entry: TableEntry, before: TableEntry | undefined, after: TableEntry | undefined): void {
    entry.before = before;
    entry.after = after;
    if (before === undefined) this.head = entry;
    else before.after = entry;
    if (after === undefined) this.tail = entry;
    else after.before = entry;
  }
}
