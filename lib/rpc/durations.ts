import { MAX_DURATION_MS } from '../core/index.js';

/** A duration from the wire as a number: what a timer cannot hold becomes the longest it can, never a wrapped value. */
export function durationFromWire(ms: bigint): number {
  if (ms > BigInt(MAX_DURATION_MS)) return MAX_DURATION_MS;
  return ms <= 0n ? 0 : Number(ms);
}

/** A duration for the wire: whole milliseconds, rounded up, so that a wait is never cut short. */
export function durationToWire(ms: number): bigint {
  return BigInt(Math.min(Math.max(0, Math.ceil(ms)), MAX_DURATION_MS));
}
