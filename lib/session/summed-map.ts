/** A map by number that knows the sum of its numbers: two sides with equal sums and sizes hold the same ones, as good as surely. */
export class SummedMap<T> extends Map<number, T> {
  private total = 0;

  /** Exact below 2^53: a hundred thousand numbers of ten digits. */
  get sum(): number {
    return this.total;
  }

  override set(number: number, value: T): this {
    if (!this.has(number)) this.total += number;
    return super.set(number, value);
  }

  override delete(number: number): boolean {
    const known = super.delete(number);
    if (known) this.total -= number;
    return known;
  }

  override clear(): void {
    this.total = 0;
    super.clear();
  }
}
