interface Remembered<V> {
  readonly id: string;
  readonly value: V;
  readonly atMs: number;
  older: Remembered<V> | undefined;
  newer: Remembered<V> | undefined;
}

/** Aged entries dropped with each insertion: more than come in, few enough that no call pays for an hour of them. */
const DROPPED_PER_INSERTION = 4;

/**
 * What is over and still has to be known, bounded by number and age, exactly. One list in order of insertion, so that
 * an id that is remembered again is as young as it looks and both bounds take from the same end.
 */
export class AgedMemory<V> {
  private readonly byId = new Map<string, Remembered<V>>();
  private oldest: Remembered<V> | undefined = undefined;
  private newest: Remembered<V> | undefined = undefined;

  /** @param maxEntries 0 remembers nothing. @param maxAgeMs 0 or less: no age limit. */
  constructor(
    private readonly maxEntries: number,
    private readonly maxAgeMs: number,
  ) {}

  get size(): number {
    return this.byId.size;
  }

  /** The value, unless it is too old. */
  get(id: string, nowMs: number): V | undefined {
    const found = this.byId.get(id);
    if (found === undefined) return undefined;
    if (!this.tooOld(found, nowMs)) return found.value;
    this.drop(found);
    return undefined;
  }

  /** Remembers an id anew; the oldest goes if there is no room. */
  remember(id: string, value: V, nowMs: number): void {
    if (this.maxEntries > 0) this.add(id, value, nowMs);
  }

  private add(id: string, value: V, nowMs: number): void {
    const known = this.byId.get(id);
    if (known !== undefined) this.drop(known);
    const entry: Remembered<V> = { id, value, atMs: nowMs, older: this.newest, newer: undefined };
    if (this.newest === undefined) this.oldest = entry;
    else this.newest.newer = entry;
    this.newest = entry;
    this.byId.set(id, entry);
    if (this.oldest !== undefined && this.byId.size > this.maxEntries) this.drop(this.oldest);
    this.dropAged(nowMs);
  }

  /** What is remembered, oldest first. */
  *entries(): IterableIterator<[id: string, value: V]> {
    for (let entry = this.oldest; entry !== undefined; entry = entry.newer) yield [entry.id, entry.value];
  }

  /** Drops some of what is too old. */
  dropAged(nowMs: number): void {
    for (let dropped = 0; dropped < DROPPED_PER_INSERTION; dropped++) {
      if (this.oldest === undefined || !this.tooOld(this.oldest, nowMs)) return;
      this.drop(this.oldest);
    }
  }

  private tooOld(entry: Remembered<V>, nowMs: number): boolean {
    return this.maxAgeMs > 0 && nowMs - entry.atMs >= this.maxAgeMs;
  }

  private drop(entry: Remembered<V>): void {
    this.byId.delete(entry.id);
    if (entry.older === undefined) this.oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) this.newest = entry.older;
    else entry.newer.older = entry.older;
  }
}
