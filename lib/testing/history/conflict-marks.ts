import type { LockKey } from '../../core/index.js';

/**
 * The best mark among everything that conflicts with a key, of one L1 tree: an L1 conflicts with all of it, an L2 with
 * the L1s and its own kind. Kept in constant time per key, so that a history is checked in one sweep.
 */
export class ConflictMarks<T> {
  private l1: T | undefined;
  private anyL2: T | undefined;
  private readonly byL2 = new Map<string, T>();

  /** @param better whether `a` must be kept rather than `b`. */
  constructor(private readonly better: (a: T, b: T) => boolean) {}

  /** The best mark conflicting with `key`. */
  get(key: LockKey): T | undefined {
    return this.best(this.l1, key.length === 1 ? this.anyL2 : this.byL2.get(key[1]));
  }

  add(key: LockKey, mark: T): void {
    if (key.length === 1) {
      this.l1 = this.best(this.l1, mark);
      return;
    }
    this.anyL2 = this.best(this.anyL2, mark);
    const best = this.best(this.byL2.get(key[1]), mark);
    if (best !== undefined) this.byL2.set(key[1], best);
  }

  private best(a: T | undefined, b: T | undefined): T | undefined {
    if (a === undefined || b === undefined) return a ?? b;
    return this.better(b, a) ? b : a;
  }
}
