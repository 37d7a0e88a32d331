import { backoffMs, RETRY_BACKOFF } from './backoff.js';
import type { LinkId } from './call-outcome.js';
import { Doubts } from './doubts.js';
import { mayAskAgain, type Verdict } from './verdict.js';

/** A server that was asked to wait answers by itself; this much later the call ends without it (case B-031). */
export const ANSWER_GRACE_MS = 1_000;

/** A session found dead does not count against a wait of 0: that many are replaced before the call fails. */
const FREE_REPLACEMENTS = 3;

/** The wait one attempt asks of the server: min(attempt, what is left), at least 1; 0, no bound, only if neither has an end. */
export function attemptTimeoutMs(attemptMs: number, leftMs: number): number {
  const timeoutMs = Math.min(attemptMs, leftMs);
  return timeoutMs === Infinity ? 0 : Math.max(1, Math.ceil(timeoutMs));
}

/** One attempt: the wait it asks for, and how long the call may take. */
export interface AttemptPlan {
  readonly timeoutMs: number;
  readonly callMs: number;
}

/** What to do after an attempt that was not granted. */
export type AcquireStep =
  /** Again after a pause, with the same request id, on the session that is current then. */
  | { readonly next: 'again'; readonly pauseMs: number }
  /** Over: the store said the key is busy. */
  | { readonly next: 'busy' }
  /** Over: the id is used up, and the caller needs another. */
  | { readonly next: 'conflict' }
  /** Over, without a definite answer about the key in time. */
  | { readonly next: 'unavailable' }
  /** Over: refused for good. */
  | { readonly next: 'refused' };

export interface AcquireWait {
  readonly waitMs: number;
  readonly attemptMs: number;
  /** Monotonic time of the call. */
  readonly startedMs: number;
}

/**
 * One acquire for its whole life: how long each attempt asks to wait, and what its answer leads to.
 * Time and randomness are handed in; nothing is sent here.
 */
export class AcquireAttempts {
  /** Copies whose effect is unknown. */
  readonly doubts = new Doubts();
  private readonly endMs: number;
  private failures = 0;
  private replacements = 0;
  /** When the attempt under way should be answered at the earliest if the server waits as asked. */
  private servedAtMs = -Infinity;

  constructor(private readonly wait: AcquireWait) {
    this.endMs = wait.startedMs + wait.waitMs;
  }

  /** Milliseconds of the wait that are left; 0 when it is over. */
  leftMs(nowMs: number): number {
    return Math.max(0, this.endMs - nowMs);
  }

  plan(nowMs: number): AttemptPlan {
    const timeoutMs = attemptTimeoutMs(this.wait.attemptMs, this.leftMs(nowMs));
    this.servedAtMs = nowMs + timeoutMs / 2;
    return { timeoutMs, callMs: timeoutMs + ANSWER_GRACE_MS };
  }

  /** A copy was given up by the caller while it was under way. */
  abandoned(link: LinkId): void {
    this.doubts.add(link);
  }

  /** An attempt ended without a grant. `link` is undefined if it was never sent; `fraction` is random in [0, 1). */
  ended(verdict: Verdict, link: LinkId | undefined, nowMs: number, fraction: number): AcquireStep {
    if (link !== undefined) this.doubts.answered(verdict, link);
    if (verdict === 'conflict') return { next: 'conflict' };
    if (verdict === 'session-over' || verdict === 'other-server') return this.replaceSession(nowMs, fraction);
    if (!mayAskAgain(verdict)) return { next: 'refused' };
    if (this.leftMs(nowMs) === 0) return verdict === 'busy' ? { next: 'busy' } : { next: 'unavailable' };
    // The place in the queue is kept by coming back at once (WK-22), unless the server did not wait at all.
    if (verdict === 'busy' && nowMs >= this.servedAtMs) return again(0);
    return again(this.pauseMs(nowMs, fraction));
  }

  private replaceSession(nowMs: number, fraction: number): AcquireStep {
    this.replacements++;
    if (this.replacements > FREE_REPLACEMENTS && this.leftMs(nowMs) === 0) return { next: 'unavailable' };
    return again(this.replacements === 1 ? 0 : this.pauseMs(nowMs, fraction));
  }

  private pauseMs(nowMs: number, fraction: number): number {
    this.failures++;
    const pauseMs = backoffMs(RETRY_BACKOFF, this.failures, fraction);
    const leftMs = this.leftMs(nowMs);
    return leftMs === 0 ? pauseMs : Math.min(pauseMs, leftMs);
  }
}

function again(pauseMs: number): AcquireStep {
  return { next: 'again', pauseMs };
}
