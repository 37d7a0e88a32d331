/** Numbers received on a channel, over all its streams: each once, in order. */
export class ChannelInbox {
  private lastNumber = 0;

  /** The last number received; everything before it was, too. */
  get last(): number {
    return this.lastNumber;
  }

  /**
   * Takes in `count` numbers from `first` on. Returns how many of them were received before and are to be passed over;
   * undefined if some are missing before `first`: the sender has lost its place.
   */
  accept(first: number, count: number): number | undefined {
    // Also of a frame without any: what should have come before it would never be missed again.
    if (first > this.lastNumber + 1) return undefined;
    if (count === 0) return 0;
    if (first < 1) return undefined;
    const known = Math.min(count, this.lastNumber + 1 - first);
    this.lastNumber += count - known;
    return known;
  }
}
