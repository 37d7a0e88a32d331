import { backoffMs, RETRY_BACKOFF } from './backoff.js';
import { mayReleaseAgain, type Verdict } from './verdict.js';

/** What to do after a release that was not answered with success. */
export type ReleaseStep =
  | { readonly next: 'again'; readonly pauseMs: number }
  /** The store does not hold it any more because of an earlier attempt of this very release. */
  | { readonly next: 'released' }
  /** The store had ended it before. */
  | { readonly next: 'lost' };

/**
 * One release for its whole life: one id, repeated until it is answered or the lease is over (WK-12).
 * A live session would keep the lock for ever otherwise, so nothing but an answer ends it.
 */
export class ReleaseAttempts {
  private failures = 0;
  private perhapsDone = false;

  /** An attempt was not answered with success; `fraction` is random in [0, 1). */
  ended(verdict: Verdict, fraction: number): ReleaseStep {
    if (verdict === 'unresolved') this.perhapsDone = true;
    if (mayReleaseAgain(verdict)) {
      this.failures++;
      return { next: 'again', pauseMs: backoffMs(RETRY_BACKOFF, this.failures, fraction) };
    }
    // Servers that do not remember releases answer LOCK_NOT_FOUND to the repeat of one whose reply was lost.
    return { next: verdict === 'not-held' && this.perhapsDone ? 'released' : 'lost' };
  }
}
