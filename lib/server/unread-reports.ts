import type { ChannelReport } from '../rpc/index.js';
import { MAX_UNREAD_REPORT_ENTRIES } from './server-limits.js';

interface Unread {
  readonly message: number;
  readonly entries: number;
}

/**
 * Reports a channel's client has not acknowledged. They are the only answers of more than a hundred bytes, so the bound
 * on the number of answers says nothing about the memory they take.
 */
export class UnreadReports {
  private unread: Unread[] = [];
  private entries = 0;

  /** Whether there is room for one more, after the client has acknowledged everything up to this message. */
  hasRoom(acknowledged: number): boolean {
    if (this.entries < MAX_UNREAD_REPORT_ENTRIES) return true;
    this.unread = this.unread.filter(({ message }) => message > acknowledged);
    this.entries = this.unread.reduce((sum, { entries }) => sum + entries, 0);
    return this.entries < MAX_UNREAD_REPORT_ENTRIES;
  }

  add(message: number, { holders, waiters }: ChannelReport): void {
    const entries = 1 + holders.length + waiters.length;
    this.unread.push({ message, entries });
    this.entries += entries;
  }
}
