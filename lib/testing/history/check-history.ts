import { formatKey } from '../../core/index.js';
import { ConflictMarks } from './conflict-marks.js';
import type { GrantRecord, History, Violation, WriteRecord } from './history.js';

export interface CheckOptions {
  /** How far clocks of different processes may disagree. Default 0. */
  readonly toleranceMs?: number;
  /** Violations reported at most. Default 20. */
  readonly limit?: number;
}

/**
 * Checks a history of grants and writes against the design's invariants.
 * No search is needed: the fence is the order, so conflicting grants are sorted by it and swept once, O(n log n).
 * - I1: no two clients believe at the same time that they hold conflicting keys.
 * - I3: fences of conflicting grants differ and rise.
 * - I5: a grant that was returned before another was asked for has the smaller fence.
 * - I4: accepted writes never go below a conflicting fence.
 */
export function checkHistory(history: History, options: CheckOptions = {}): Violation[] {
  const { toleranceMs = 0, limit = 20 } = options;
  const violations: Violation[] = [];
  for (const tree of byTree(history.grants)) {
    tree.sort((a, b) => compare(a.fence, b.fence));
    violations.push(...checkBeliefs(tree, toleranceMs), ...checkRealTime(tree, toleranceMs));
    if (violations.length >= limit) return violations.slice(0, limit);
  }
  for (const tree of byTree(history.writes ?? [])) violations.push(...checkWrites(tree));
  return violations.slice(0, limit);
}

function byTree<T extends { readonly key: readonly [string, ...string[]] }>(records: readonly T[]): T[][] {
  const trees = new Map<string, T[]>();
  for (const record of records) {
    const tree = trees.get(record.key[0]);
    if (tree === undefined) trees.set(record.key[0], [record]);
    else tree.push(record);
  }
  return [...trees.values()];
}

/** In order of fence, every conflicting grant before must have ended before this one began. */
function checkBeliefs(tree: readonly GrantRecord[], toleranceMs: number): Violation[] {
  const violations: Violation[] = [];
  const lastEnd = new ConflictMarks<GrantRecord>((a, b) => a.endedAtMs > b.endedAtMs);
  const lastFence = new ConflictMarks<GrantRecord>((a, b) => a.fence > b.fence);
  for (const grant of tree) {
    const before = lastEnd.get(grant.key);
    if (before !== undefined && before.endedAtMs > grant.grantedAtMs + toleranceMs) {
      violations.push({
        invariant: 'I1',
        message: `${name(before)} still believed when ${name(grant)} began`,
      });
    }
    const twin = lastFence.get(grant.key);
    if (twin !== undefined && twin.fence >= grant.fence) {
      violations.push({ invariant: 'I3', message: `${name(twin)} and ${name(grant)} do not rise` });
    }
    lastEnd.add(grant.key, grant);
    lastFence.add(grant.key, grant);
  }
  return violations;
}

/** Swept from the largest fence down: nobody above may have been granted before this one was asked for. */
function checkRealTime(tree: readonly GrantRecord[], toleranceMs: number): Violation[] {
  const violations: Violation[] = [];
  const earliest = new ConflictMarks<GrantRecord>((a, b) => a.grantedAtMs < b.grantedAtMs);
  for (let at = tree.length - 1; at >= 0; at--) {
    const grant = tree[at] as GrantRecord;
    const above = earliest.get(grant.key);
    if (above !== undefined && above.grantedAtMs < grant.calledAtMs - toleranceMs) {
      const message = `${name(above)} was granted before ${name(grant)} was asked for, with the larger fence`;
      violations.push({ invariant: 'I5', message });
    }
    earliest.add(grant.key, grant);
  }
  return violations;
}

/** In the order the resource took them. */
function checkWrites(writes: readonly WriteRecord[]): Violation[] {
  const violations: Violation[] = [];
  const highest = new ConflictMarks<WriteRecord>((a, b) => a.fence > b.fence);
  for (const write of writes) {
    const seen = highest.get(write.key);
    if (seen !== undefined && seen.fence > write.fence) {
      const message = `the resource took a write with fence ${write.fence} under ${formatKey(write.key)} after one with ${seen.fence} under ${formatKey(seen.key)}`;
      violations.push({ invariant: 'I4', message });
    }
    highest.add(write.key, write);
  }
  return violations;
}

function name(grant: GrantRecord): string {
  return `${grant.client}'s ${formatKey(grant.key)} (fence ${grant.fence}, ${grant.grantedAtMs} to ${grant.endedAtMs} ms)`;
}

function compare(a: bigint, b: bigint): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
