import { msUntil, shift, type Instant } from './clock.js';

/**
 * Until when a lease is known to hold: its request's send time + its length - the margin (design D2).
 * The send time, since the store's own clock for the lease started at the earliest when the request left.
 */
export function deadlineOf(sentAt: Instant, leaseMs: number, marginMs: number): Instant {
  return shift(sentAt, leaseMs - marginMs);
}

/** The earlier of two deadlines, clock by clock. */
export function earlier(a: Instant, b: Instant | undefined): Instant {
  if (b === undefined) return a;
  return { monoMs: Math.min(a.monoMs, b.monoMs), wallMs: Math.min(a.wallMs, b.wallMs) };
}

/** Whether a deadline is past on either clock. At the deadline itself it is. */
export function isPast(deadline: Instant, now: Instant): boolean {
  return msUntil(deadline, now) <= 0;
}
