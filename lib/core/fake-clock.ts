import type { Clock, Instant, Timer } from './clock.js';

interface PendingTimer {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * A clock that stands still until it is told to move: for tests and simulations.
 * `advance` moves both clocks; `suspend` only the wall clock, as a sleeping machine does; `stepWall` sets the wall clock.
 */
export class FakeClock implements Clock {
  private mono: number;
  private wall: number;
  private order = 0;
  private readonly pending = new Set<PendingTimer>();

  constructor(start: Instant = { monoMs: 1_000, wallMs: 1_800_000_000_000 }) {
    this.mono = start.monoMs;
    this.wall = start.wallMs;
  }

  monoMs(): number {
    return this.mono;
  }

  wallMs(): number {
    return this.wall;
  }

  now(): Instant {
    return { monoMs: this.mono, wallMs: this.wall };
  }

  /** Timers that have not fired. */
  get timers(): number {
    return this.pending.size;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer: PendingTimer = { atMs: this.mono + Math.max(0, delayMs), order: this.order++, run };
    this.pending.add(timer);
    return { cancel: () => void this.pending.delete(timer) };
  }

  /**
   * Moves both clocks and fires every timer that becomes due, in order, letting promises settle around each.
   * Of several under way at once each ends where it was bound for, or further on: the monotonic clock never goes back.
   */
  async advance(ms: number): Promise<void> {
    const end = this.mono + ms;
    await settle();
    for (let due = this.next(end); due !== undefined; due = this.next(end)) {
      this.moveTo(Math.max(due.atMs, this.mono));
      this.pending.delete(due);
      due.run();
      await settle();
    }
    this.moveTo(end);
  }

  /** Moves both clocks without running any timer: what a blocked event loop or a stopped process sees on its first line. */
  block(ms: number): void {
    this.moveTo(this.mono + ms);
  }

  /** The machine sleeps: the wall clock goes on, the monotonic clock and every timer stand still. */
  suspend(ms: number): void {
    this.wall += ms;
  }

  /** Sets the wall clock by `ms`, in either direction. */
  stepWall(ms: number): void {
    this.wall += ms;
  }

  private next(endMs: number): PendingTimer | undefined {
    let first: PendingTimer | undefined;
    for (const timer of this.pending) {
      if (timer.atMs > endMs) continue;
      if (
        first === undefined ||
        timer.atMs < first.atMs ||
        (timer.atMs === first.atMs && timer.order < first.order)
      ) {
        first = timer;
      }
    }
    return first;
  }

  private moveTo(monoMs: number): void {
    const passedMs = Math.max(0, monoMs - this.mono);
    this.wall += passedMs;
    this.mono += passedMs;
  }
}

/** Lets every promise that can settle without time passing do so. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
