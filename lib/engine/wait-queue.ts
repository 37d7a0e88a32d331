import { assert } from '../core/index.js';
import type { Placed } from './table-entry.js';

/**
 * Waiters of one node in the order of their arrival numbers. The links live in the entries: joining at the end,
 * leaving from anywhere and reading the head cost the same however many wait.
 */
export class WaitQueue {
  head: Placed | undefined = undefined;
  private tail: Placed | undefined = undefined;
  /** The entry last inserted before the end. */
  private finger: Placed | undefined = undefined;

  /** Puts an entry where its arrival number belongs: nearly always the end. */
  insert(entry: Placed): void {
    assert(entry.arrival > 0, 'a waiter has an arrival number');
    const { tail } = this;
    if (tail === undefined || tail.arrival < entry.arrival) this.link(entry, tail, undefined);
    else this.insertBefore(entry);
  }

  private insertBefore(entry: Placed): void {
    const later = this.firstAfter(entry.arrival);
    this.link(entry, later?.ahead, later);
    this.finger = entry;
  }

  /** Takes an entry of this queue out. */
  remove(entry: Placed): void {
    const { ahead, behind } = entry;
    if (this.finger === entry) this.finger = ahead;
    if (ahead === undefined) this.head = behind;
    else ahead.behind = behind;
    if (behind === undefined) this.tail = ahead;
    else behind.ahead = ahead;
    entry.ahead = undefined;
    entry.behind = undefined;
  }

  /**
   * The first entry that arrived after `arrival`. Started at the finger where that is nearer than the head: whoever
   * comes back after a broken connection does so in order, and would otherwise walk the whole queue for each request.
   */
  private firstAfter(arrival: number): Placed | undefined {
    const { finger } = this;
    let entry = finger !== undefined && finger.arrival < arrival ? finger : this.head;
    while (entry !== undefined && entry.arrival < arrival) entry = entry.behind;
    return entry;
  }

  private link(entry: Placed, ahead: Placed | undefined, behind: Placed | undefined): void {
    entry.ahead = ahead;
    entry.behind = behind;
    if (ahead === undefined) this.head = entry;
    else ahead.behind = entry;
    if (behind === undefined) this.tail = entry;
    else behind.ahead = entry;
  }
}
