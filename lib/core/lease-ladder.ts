import { MAX_DURATION_MS } from './limits.js';

/** Lengths on the ladder: each costs a session, so there are few (design D9). */
export const LADDER_RUNGS = 8;
/** Neighbours differ by this factor: eight of them reach from a 64th of the instance's ttl to 256 times it. */
const STEP = 4;
/** Rungs below the instance's own. */
const BELOW = 3;

/** The lease lengths one client uses, rising, at most 8, the instance's own among them. All whole milliseconds. */
export function leaseLadder(ownMs: number): readonly number[] {
  const rungs = new Set<number>();
  for (let index = -BELOW; index < LADDER_RUNGS - BELOW; index++) {
    rungs.add(Math.min(MAX_DURATION_MS, Math.max(1, Math.ceil(ownMs * STEP ** index))));
  }
  return [...rungs].sort((a, b) => a - b);
}

/**
 * The rung for a lock of `ttlMs`: the smallest that is not below it, so that the store outlasts the handle.
 * Above the ladder the longest one: renewal carries the lock, as it does everywhere.
 */
export function rungFor(ladder: readonly number[], ttlMs: number): number {
  return ladder.find((rung) => rung >= ttlMs) ?? Math.max(...ladder);
}
