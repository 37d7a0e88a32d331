/** Something that becomes due; written by {@link DeadlineHeap} only. */
export interface Due {
  /** When; Infinity while it is in no heap. */
  dueMs: number;
  /** Its index in the heap; -1 outside and in the lane. */
  heapIndex: number;
  /** Its neighbours in the lane. */
  sooner: Due | undefined;
  later: Due | undefined;
}

/**
 * Everything that becomes due at some instant, soonest first. One timer for all of them is enough.
 *
 * Nearly all wait equally long, and so come in the order in which they become due: they stand in a lane, where coming and
 * going costs the same however many there are. Whoever would have to stand before the last of it goes into a binary heap.
 */
export class DeadlineHeap<T extends Due> {
  private readonly items: T[] = [];
  private first: T | undefined = undefined;
  private last: T | undefined = undefined;
  private inLane = 0;
  private soonestMs = Infinity;

  get size(): number {
    return this.items.length + this.inLane;
  }

  /** The soonest instant, or Infinity. Asked far more often than it changes. */
  get nextMs(): number {
    return this.soonestMs;
  }

  /** Puts an item in at an instant, or moves it there; Infinity takes it out. */
  set(item: T, dueMs: number): void {
    this.remove(item);
    if (dueMs === Infinity) return;
    item.dueMs = dueMs;
    this.putIn(item);
    if (dueMs < this.soonestMs) this.soonestMs = dueMs;
  }

  /** Takes an item out; does nothing if it is not in. */
  remove(item: T): void {
    const { dueMs } = item;
    if (dueMs === Infinity) return;
    this.takeOut(item);
    item.dueMs = Infinity;
    if (dueMs === this.soonestMs) this.look();
  }

  /** Takes out and returns the soonest item if `nowMs` has reached its instant. */
  takeDue(nowMs: number): T | undefined {
    if (this.soonestMs > nowMs) return undefined;
    const item = this.first?.dueMs === this.soonestMs ? this.first : this.items[0];
    if (item !== undefined) this.remove(item);
    return item;
  }

  private look(): void {
    const laneMs = this.first === undefined ? Infinity : this.first.dueMs;
    const top = this.items[0];
    this.soonestMs = top === undefined ? laneMs : Math.min(laneMs, top.dueMs);
  }

  private putIn(item: T): void {
    if (this.last === undefined || this.last.dueMs <= item.dueMs) return this.append(item);
    item.heapIndex = this.items.push(item) - 1;
    this.rise(item);
  }

  private takeOut(item: T): void {
    const index = item.heapIndex;
    if (index === -1) return this.unlink(item);
    item.heapIndex = -1;
    const moved = this.items.pop();
    if (moved === undefined || moved === item) return;
    this.place(moved, index);
    this.rise(moved);
    this.sink(moved);
  }

  private append(item: T): void {
    item.sooner = this.last;
    if (this.last === undefined) this.first = item;
    else this.last.later = item;
    this.last = item;
    this.inLane++;
  }

  private unlink(item: T): void {
    const { sooner, later } = item;
    if (sooner === undefined) this.first = later as T | undefined;
    else sooner.later = later;
    if (later === undefined) this.last = sooner as T | undefined;
    else later.sooner = sooner;
    item.sooner = undefined;
    item.later = undefined;
    this.inLane--;
  }

  private rise(item: T): void {
    let index = item.heapIndex;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const other = this.items[above];
      if (other === undefined || other.dueMs <= item.dueMs) break;
      this.place(other, index);
      index = above;
    }
    this.place(item, index);
  }

  private sink(item: T): void {
    let index = item.heapIndex;
    for (;;) {
      const lower = this.soonerBelow(index);
      if (lower === undefined || lower.dueMs >= item.dueMs) break;
      const next = lower.heapIndex;
      this.place(lower, index);
      index = next;
    }
    this.place(item, index);
  }

  private soonerBelow(index: number): T | undefined {
    const left = this.items[2 * index + 1];
    const right = this.items[2 * index + 2];
    return right === undefined || (left !== undefined && left.dueMs <= right.dueMs) ? left : right;
  }

  private place(item: T, index: number): void {
    this.items[index] = item;
    item.heapIndex = index;
  }
}
