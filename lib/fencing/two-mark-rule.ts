import type { LockKey } from '../core/index.js';

/**
 * What a resource remembers of one L1 tree (design D6): a write under an L1 grant conflicts with every earlier write of the
 * tree, a write under an L2 grant only with those of its own L2 and of L1 grants.
 */
export interface TreeMarks {
  /** The largest fence a write under an L1 grant was accepted with. */
  readonly l1: bigint;
  /** The largest fence any write of the tree was accepted with. */
  readonly any: bigint;
}

/** The largest fence that a write under this key conflicts with; `own` is the mark of its L2. */
export function markAgainst(key: LockKey, marks: TreeMarks, own: bigint): bigint {
  if (key.length === 1) return marks.any;
  return larger(marks.l1, own);
}

/** The tree's marks after a write was accepted. */
export function raise(key: LockKey, marks: TreeMarks, fence: bigint): TreeMarks {
  return key.length === 1 ? { l1: fence, any: fence } : { l1: marks.l1, any: larger(marks.any, fence) };
}

/** The larger of two fences. */
export function larger(a: bigint, b: bigint): bigint {
  return a < b ? b : a;
}
