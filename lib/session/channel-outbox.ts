const SMALLEST = 16;
/** A list that grew beyond this is given up when it is empty. */
const KEPT = 4_096;

/**
 * What one side of a channel has said and the other has not acknowledged yet: numbered from 1 without gaps, kept until
 * acknowledged, sent again from the first of them after a resume.
 */
export class ChannelOutbox<T> {
  /** A ring: an entry stands at its number modulo the length, a power of two. */
  private ring = emptyRing<T>(SMALLEST);
  private lastNumber = 0;
  private acknowledged = 0;
  private sentNumber = 0;
  private everSent = 0;

  /** Entries not acknowledged. */
  get size(): number {
    return this.lastNumber - this.acknowledged;
  }

  /** Number of the newest entry; 0 for none. */
  get last(): number {
    return this.lastNumber;
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
    return this.sentNumber < this.lastNumber;
  }

  /** Adds an entry; its number. */
  push(entry: T): number {
    if (this.size === this.ring.length) this.grow();
    const number = ++this.lastNumber;
    this.ring[number & (this.ring.length - 1)] = entry;
    return number;
  }

  /** Takes the next entries to send whose sizes add up to `room` at most, but at least one; each is seen by `sending`. */
  take(room: number, sizeOf: (entry: T) => number, sending?: (entry: T, number: number) => void): T[] {
    const taken: T[] = [];
    let left = room;
    while (this.sentNumber < this.lastNumber) {
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
    while (this.acknowledged < upTo) {
      const next = ++this.acknowledged;
      arrived?.(this.at(next), next);
      this.ring[next & (this.ring.length - 1)] = undefined;
    }
    if (this.sentNumber < this.acknowledged) this.sentNumber = this.acknowledged;
    if (this.size === 0 && this.ring.length > KEPT) this.ring = emptyRing(SMALLEST);
  }

  /** A new stream: what is not acknowledged is sent again. */
  rewind(): void {
    this.sentNumber = this.acknowledged;
  }

  private at(number: number): T {
    return this.ring[number & (this.ring.length - 1)] as T;
  }

  private grow(): void {
    const larger = emptyRing<T>(this.ring.length * 2);
    for (let number = this.acknowledged + 1; number <= this.lastNumber; number++)
      larger[number & (larger.length - 1)] = this.at(number);
    this.ring = larger;
  }
}

function emptyRing<T>(length: number): (T | undefined)[] {
  return new Array<T | undefined>(length).fill(undefined);
}
