/** Something that becomes due; written by {@link DeadlineHeap} only. */
export interface Due {
  /** When; Infinity while it stands in no heap. */
  dueMs: number;
  /** Its index in the heap, -1 outside. */
  heapIndex: number;
}

/** Everything that becomes due at some instant, soonest first. One timer for all of them is enough. */
export class DeadlineHeap<T extends Due> {
  private readonly items: T[] = [];
  private soonestMs = Infinity;

  get size(): number {
    return this.items.length;
  }

  /** The soonest instant, or Infinity. Asked far more often than it changes. */
  get nextMs(): number {
    return this.soonestMs;
  }

  /** Puts an item in at an instant, or moves it there; Infinity takes it out. */
  set(item: T, dueMs: number): void {
    if (dueMs === Infinity) {
      this.remove(item);
      return;
    }
    const earlier = dueMs < item.dueMs;
    item.dueMs = dueMs;
    if (item.heapIndex === -1) {
      item.heapIndex = this.items.push(item) - 1;
      this.rise(item);
    } else if (earlier) this.rise(item);
    else this.sink(item);
    this.look();
  }

  /** Takes an item out; does nothing if it is not in. */
  remove(item: T): void {
    const index = item.heapIndex;
    item.dueMs = Infinity;
    if (index === -1) return;
    item.heapIndex = -1;
    const last = this.items.pop();
    if (last !== undefined && last !== item) {
      this.place(last, index);
      this.rise(last);
      this.sink(last);
    }
    this.look();
  }

  /** Takes out and returns the soonest item if `nowMs` has reached its instant. */
  takeDue(nowMs: number): T | undefined {
    const first = this.items[0];
    if (first === undefined || first.dueMs > nowMs) return undefined;
    this.remove(first);
    return first;
  }

  private look(): void {
    this.soonestMs = this.items[0]?.dueMs ?? Infinity;
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
