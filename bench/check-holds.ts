import { checkHistory, type GrantRecord } from 'klock/testing';
import type { Holds } from './loads/hold-log.js';

/** By how much two processes' readings of the one clock of their machine may differ. */
const TOLERANCE_MS = 0.1;

/** What the history checker finds wrong with the holds of processes that were loaded together, first of all first. */
export function checkHolds(processes: readonly Holds[]): string[] {
  const grants = processes.flatMap((holds, index) => grantsOf(holds, `process ${index}`));
  return checkHistory({ grants }, { toleranceMs: TOLERANCE_MS }).map(
    ({ invariant, message }) => `${invariant}: ${message}`,
  );
}

function grantsOf({ keys, key, fence, calledMs, grantedMs }: Holds, client: string): GrantRecord[] {
  return Array.from(key, (which, at) => ({
    key: keys[which] as GrantRecord['key'],
    client,
    fence: fence[at] as bigint,
    calledAtMs: calledMs[at] as number,
    grantedAtMs: grantedMs[at] as number,
    endedAtMs: grantedMs[at] as number,
  }));
}
