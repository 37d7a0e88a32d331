import type { Random } from '../../core/index.js';

/** Numbers that follow from a seed alone, so that a run replays. Not for secrets. */
export class SeededRandom implements Random {
  private state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not give neighbouring runs.
    this.state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
    for (let turn = 0; turn < 4; turn++) this.next();
  }

  fraction(): number {
    return this.next() / 4_294_967_296;
  }

  id(): string {
    let text = '';
    for (let word = 0; word < 4; word++) text += this.next().toString(16).padStart(8, '0');
    return text;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** Anywhere from `low` to `high`. */
  between(low: number, high: number): number {
    return low + (high - low) * this.fraction();
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.fraction() * list.length)] as T;
  }

  /** A stream of its own: what is drawn from it later moves nothing here. */
  fork(): SeededRandom {
    return new SeededRandom(this.next());
  }

  /** Mulberry32: 32 bits a step. */
  private next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }
}
