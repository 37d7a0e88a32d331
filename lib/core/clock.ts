import { performance } from 'node:perf_hooks';
import { MAX_DURATION_MS } from './limits.js';

/** One reading of both clocks. Two, since a monotonic clock stands still while a machine sleeps and a wall clock may be set (design D2). */
export interface Instant {
  readonly monoMs: number;
  readonly wallMs: number;
}

/** A timer that has not fired. */
export interface Timer {
  cancel(): void;
  /** Whether the process is kept alive for it from now on. Clocks that keep no process alive need none. */
  keepAlive?(on: boolean): void;
}

/** Time as klock knows it. Everything that asks or waits for time takes one of these. */
export interface Clock {
  /** Milliseconds since some fixed point; never goes back. */
  monoMs(): number;
  /** Milliseconds since 1970; may be set in both directions. */
  wallMs(): number;
  /** Both, read together. */
  now(): Instant;
  /** Calls `run` once, `delayMs` or more from now. The process is not kept alive for it unless `keepAlive`. */
  after(delayMs: number, run: () => void, options?: { readonly keepAlive?: boolean }): Timer;
}

/** The instant `ms` later (earlier if negative) on both clocks. */
export function shift(instant: Instant, ms: number): Instant {
  return { monoMs: instant.monoMs + ms, wallMs: instant.wallMs + ms };
}

/** Milliseconds from `now` to `instant` by the more pessimistic of the two clocks; negative once either is past it. */
export function msUntil(instant: Instant, now: Instant): number {
  return Math.min(instant.monoMs - now.monoMs, instant.wallMs - now.wallMs);
}

class SystemTimer implements Timer {
  constructor(private readonly timer: NodeJS.Timeout) {}

  cancel(): void {
    clearTimeout(this.timer);
  }

  keepAlive(on: boolean): void {
    if (on) this.timer.ref();
    else this.timer.unref();
  }
}

class SystemClock implements Clock {
  monoMs(): number {
    return performance.now();
  }

  wallMs(): number {
    return Date.now();
  }

  now(): Instant {
    return { monoMs: performance.now(), wallMs: Date.now() };
  }

  after(delayMs: number, run: () => void, options?: { readonly keepAlive?: boolean }): Timer {
    // Rounded up: a timer that fires a fraction early finds its deadline not yet reached and must be set again.
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(delayMs)), MAX_DURATION_MS));
    if (options?.keepAlive !== true) timer.unref();
    return new SystemTimer(timer);
  }
}

/** The machine's clocks: `performance.now()` and `Date.now()`. */
export const systemClock: Clock = new SystemClock();
