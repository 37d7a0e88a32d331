const SMALLEST = 16;
/** Up to here a table keeps its places: whole frames come and go, and it would be built anew for each. */
const KEPT = 4_096;
/** 2^32 over the golden ratio: numbers in a row fall far apart. */
const SPREAD = 0x9e3779b1;

/**
 * What goes on under numbers above 0, such as those of a channel or of calls. A Map would do, but they come and go all the
 * time: it would build a new table every few hundred of them, and each old one keeps what stood in it alive until the next
 * full collection. This one deletes in place, and knows the sum of its numbers: two sides with equal sums and sizes hold the same
 * ones, as good as surely.
 */
export class NumberMap<T extends object> {
  private numbers = new Float64Array(SMALLEST);
  private entries: (T | undefined)[] = new Array<T | undefined>(SMALLEST).fill(undefined);
  private count = 0;
  private total = 0;

  get size(): number {
    return this.count;
  }

  /** Of all numbers. Exact below 2^53: a hundred thousand numbers of ten digits. */
  get sum(): number {
    return this.total;
  }

  has(number: number): boolean {
    return this.numbers[this.placeOf(number)] === number;
  }

  get(number: number): T | undefined {
    // Where the number is not, there is a free place.
    return this.entries[this.placeOf(number)];
  }

  set(number: number, entry: T): void {
    const place = this.placeOf(number);
    this.entries[place] = entry;
    if (this.numbers[place] === number) return;
    this.numbers[place] = number;
    this.total += number;
    this.count++;
    if (this.count * 2 > this.numbers.length) this.resize(this.numbers.length * 2);
  }

  /** Takes it out: what stood under the number, if anything. */
  delete(number: number): T | undefined {
    const place = this.placeOf(number);
    const entry = this.entries[place];
    if (entry === undefined) return undefined;
    this.close(place);
    this.total -= number;
    this.count--;
    if (this.numbers.length > KEPT && this.count * 16 < this.numbers.length)
      this.resize(this.numbers.length / 4);
    return entry;
  }

  clear(): void {
    this.count = this.total = 0;
    this.resize(SMALLEST);
  }

  /** All numbers, lowest first. */
  keys(): number[] {
    return Array.from(this.numbers.filter((number) => number > 0).sort());
  }

  /** Everything, lowest number first. */
  values(): T[] {
    return this.keys().map((number) => this.get(number) as T);
  }

  /** Where the number stands or would: at its own place or behind it, before the first free one. */
  private placeOf(number: number): number {
    const { numbers } = this;
    const mask = numbers.length - 1;
    let place = homeOf(number, mask);
    while (numbers[place] !== number && numbers[place] !== 0) place = (place + 1) & mask;
    return place;
  }

  /** Frees a place and moves up what would not be found behind the gap. */
  private close(place: number): void {
    const { numbers, entries } = this;
    const mask = numbers.length - 1;
    let gap = place;
    for (let at = (gap + 1) & mask; numbers[at] !== 0; at = (at + 1) & mask) {
      const number = numbers[at] as number;
      if (((at - homeOf(number, mask)) & mask) < ((at - gap) & mask)) continue;
      numbers[gap] = number;
      entries[gap] = entries[at];
      gap = at;
    }
    numbers[gap] = 0;
    entries[gap] = undefined;
  }

  private resize(places: number): void {
    const [numbers, entries] = [this.numbers, this.entries];
    this.numbers = new Float64Array(places);
    this.entries = new Array<T | undefined>(places).fill(undefined);
    if (this.count === 0) return;
    numbers.forEach((number, at) => {
      if (number === 0) return;
      const place = this.placeOf(number);
      this.numbers[place] = number;
      this.entries[place] = entries[at];
    });
  }
}

function homeOf(number: number, mask: number): number {
  // The upper bits of the product are the well mixed ones.
  return (Math.imul(number, SPREAD) >>> 12) & mask;
}
