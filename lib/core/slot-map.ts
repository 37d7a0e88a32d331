/** Slots that stay when nothing is left. */
const KEPT = 4_096;
/** So many deletions, and as many as there are entries, before the Map is made anew. */
const DELETIONS = 256;

/**
 * What goes on under texts that come and go all the time. A Map of it would build a new table every few hundred of them,
 * and each old one would keep what stood in it alive until the next full collection, with all that it refers to. Here only
 * the numbers of slots stand in the Map, and it is made anew in time, so that the ids go too.
 */
export class SlotMap<T extends object> {
  private places = new Map<string, number>();
  private readonly slots: (T | undefined)[] = [];
  private readonly free: number[] = [];
  private deletions = 0;

  get size(): number {
    return this.places.size;
  }

  has(id: string): boolean {
    return this.places.has(id);
  }

  get(id: string): T | undefined {
    const place = this.places.get(id);
    return place === undefined ? undefined : this.slots[place];
  }

  set(id: string, entry: T): void {
    const known = this.places.get(id);
    const place = known ?? this.free.pop() ?? this.slots.length;
    this.slots[place] = entry;
    if (known === undefined) this.places.set(id, place);
  }

  /** Returns whether it was there. */
  delete(id: string): boolean {
    const place = this.places.get(id);
    if (place === undefined) return false;
    this.places.delete(id);
    this.slots[place] = undefined;
    this.free.push(place);
    if (this.places.size === 0 && this.slots.length > KEPT) this.slots.length = this.free.length = 0;
    if (++this.deletions >= DELETIONS && this.deletions >= this.places.size) this.renew();
    return true;
  }

  /** In the order they were put in; entries may be deleted meanwhile. */
  *[Symbol.iterator](): IterableIterator<[id: string, entry: T]> {
    // What was deleted since still stands in a Map that was renewed meanwhile.
    for (const [id, place] of this.places)
      if (this.places.get(id) === place) yield [id, this.slots[place] as T];
  }

  /** As above, without the ids. */
  *values(): IterableIterator<T> {
    for (const [, entry] of this) yield entry;
  }

  private renew(): void {
    this.deletions = 0;
    this.places = new Map(this.places);
  }
}
