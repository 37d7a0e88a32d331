import { backoffBound } from './backoff.js';

/** Reconnects of the watch: 100 ms doubling to 1,600 ms. */
const WATCH_BACKOFF = { firstMs: 100, longestMs: 1_600 };
/** A connection that lasted this long was a good one: counting starts anew when it drops. */
export const WATCH_STABLE_MS = 500;
/** In strict mode a watch that cannot be kept for this long ends the session. */
export const WATCH_STRICT_MS = 5_000;

/** What to do when the watch is gone. */
export type WatchStep =
  | { readonly next: 'reconnect'; readonly pauseMs: number }
  /** The server has no watch: heartbeats must do. */
  | { readonly next: 'do-without' }
  /** Strict mode: the session is given up. */
  | { readonly next: 'give-up' };

/**
 * The watch of one session. It is a hint: losing it costs nothing but earlier notice of a session's end, unless
 * `strict` (WK-23). Time and randomness are handed in.
 */
export class WatchState {
  private failures = 0;
  private downSinceMs: number | undefined = undefined;
  private establishedMs: number | undefined = undefined;

  constructor(private readonly strict: boolean) {}

  /** Whether the server has confirmed the watch and it has not dropped since. */
  get established(): boolean {
    return this.establishedMs !== undefined;
  }

  /** The server confirmed the watch. */
  confirmed(nowMs: number): void {
    this.establishedMs = nowMs;
  }

  /** The stream ended, or could not be opened; `unsupported` if the server has no such call. */
  dropped(unsupported: boolean, nowMs: number, fraction: number): WatchStep {
    if (this.establishedMs !== undefined && nowMs - this.establishedMs >= WATCH_STABLE_MS) {
      this.failures = 0;
      this.downSinceMs = undefined;
    }
    this.establishedMs = undefined;
    this.downSinceMs ??= nowMs;
    this.failures++;
    if (unsupported && !this.strict) return { next: 'do-without' };
    if (this.strict && nowMs - this.downSinceMs >= WATCH_STRICT_MS) return { next: 'give-up' };
    return { next: 'reconnect', pauseMs: this.pauseMs(fraction) };
  }

  /** From half of the bound to all of it: spread out, yet never a tight loop. */
  private pauseMs(fraction: number): number {
    const boundMs = backoffBound(WATCH_BACKOFF, this.failures);
    return Math.ceil(boundMs / 2 + (boundMs / 2) * fraction);
  }
}
