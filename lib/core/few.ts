const NONE: readonly never[] = [];

/** A list of mostly one: the first costs no array. Members are found by identity; all() may be walked while it changes. */
export class Few<T extends object> {
  private only: T | undefined = undefined;
  private many: readonly T[] | undefined = undefined;

  get empty(): boolean {
    return this.only === undefined && this.many === undefined;
  }

  add(item: T): void {
    if (this.empty) this.only = item;
    else this.set([...this.all(), item]);
  }

  delete(item: T): void {
    if (this.only === item) this.only = undefined;
    else if (this.many !== undefined) this.set(this.many.filter((other) => other !== item));
  }

  all(): readonly T[] {
    return this.many ?? (this.only === undefined ? NONE : [this.only]);
  }

  private set(items: readonly T[]): void {
    this.only = items.length === 1 ? items[0] : undefined;
    this.many = items.length > 1 ? items : undefined;
  }
}
