/** Behind this many dropped entries the list is shortened. */
const COMPACT_ABOVE = 1_024;

/**
 * What one side of a channel has said and the other has not acknowledged yet: numbered from 1 without gaps, kept until
 * acknowledged, sent again from the first of them after a resume.
 */
export class ChannelOutbox<T> {
  private entries: (T | undefined)[] = [];
  /** Index of the oldest entry that is not acknowledged ... */
  private head = 0;
  /** ... and its number. */
  private firstNumber = 1;
  private sentNumber = 0;
  private everSent = 0;

  /** Entries not acknowledged. */
  get size(): number {
    return this.entries.length - this.head;
  }

  /** Number of the newest entry; 0 for none. */
  get last(): number {
    return this.firstNumber + this.size - 1;
  }

  /** The last number sent on the current stream. */
  get sent(): number {
    return this.sentNumber;
  }

  /** The last number ever sent. */
  get lastEverSent(): number {
    return this.everSent;
  }

  get hasUnsent(): boolean {
    return this.sentNumber < this.last;
  }

  /** Adds an entry; its number. */
  push(entry: T): number {
    this.entries.push(entry);
    return this.last;
  }

  /** Takes the next entries to send whose sizes add up to `room` at most, but at least one; each is seen by `sending`. */
  take(room: number, sizeOf: (entry: T) => number, sending?: (entry: T, number: number) => void): T[] {
    const taken: T[] = [];
    let left = room;
    while (this.sentNumber < this.last) {
      const entry = this.at(this.sentNumber + 1);
      left -= sizeOf(entry);
      if (left < 0 && taken.length > 0) break;
      this.sentNumber++;
      taken.push(entry);
      if (this.sentNumber <= this.everSent) continue;
      this.everSent = this.sentNumber;
      sending?.(entry, this.sentNumber);
    }
    return taken;
  }

  /** Everything up to `number` has arrived. A number that was never sent acknowledges nothing beyond what was. */
  acknowledge(number: number, arrived?: (entry: T, number: number) => void): void {
    const upTo = Math.min(number, this.everSent);
    for (; this.firstNumber <= upTo; this.firstNumber++, this.head++) {
      arrived?.(this.entries[this.head] as T, this.firstNumber);
      this.entries[this.head] = undefined;
    }
    if (this.sentNumber < this.firstNumber - 1) this.sentNumber = this.firstNumber - 1;
    if (this.head === this.entries.length || this.head > COMPACT_ABOVE) this.compact();
  }

  /** A new stream: what is not acknowledged is sent again. */
  rewind(): void {
    this.sentNumber = this.firstNumber - 1;
  }

  private at(number: number): T {
    return this.entries[this.head + number - this.firstNumber] as T;
  }

  private compact(): void {
    if (this.head === this.entries.length) this.entries.length = 0;
    else if (this.head * 2 > this.entries.length) this.entries = this.entries.slice(this.head);
    else return;
    this.head = 0;
  }
}
