import type { Clock, Random } from '../../core/index.js';

/** First pause after a failure; doubled each time. */
const FIRST_PAUSE_MS = 10;
/** Longest pause: a store that is back must be met within a second (case B-028). */
const LONGEST_PAUSE_MS = 500;

/** Waits that long, or less if the process has nothing else to live for. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

/** The pause before attempt `failures` + 1: growing, and different for everybody who failed together. */
export function backoffMs(failures: number, random: Random): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
  return longest / 2 + (longest / 2) * random.fraction();
}
