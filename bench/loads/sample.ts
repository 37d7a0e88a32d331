import type { Holds } from './hold-log.js';

/** What one measurement of one process found. Times in milliseconds. */
export interface Sample {
  readonly pairs: number;
  /** Those before the measurement included. */
  readonly pairsInAll: number;
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU time of the process. */
  readonly cpuMs: number;
  readonly errors: number;
  readonly firstError?: string;
  readonly holds: Holds;
  /** Pairs of each worker. */
  readonly perWorker: readonly number[];
}

/** Milliseconds on a clock that the processes of one machine share. */
export function sharedNow(): number {
  return performance.timeOrigin + performance.now();
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
