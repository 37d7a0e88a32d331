import type { Clock, Instant, Timer } from '../../core/index.js';
import type { Timeline } from './timeline.js';

/** How one machine's clocks differ from true time. */
export interface ClockShape {
  /** Milliseconds it counts in a true one. */
  readonly rate: number;
  readonly monoMs: number;
  readonly wallMs: number;
}

interface Waiting {
  readonly atMs: number;
  readonly run: () => void;
  planned?: Timer;
}

/** Timers that are this much early by rounding are on time. */
const ROUNDING_MS = 1e-6;

/** The two clocks of one machine: running at a rate of their own, the monotonic one standing still while it sleeps. */
export class SimClock implements Clock {
  private mono: number;
  private monoAsOf: number;
  private wall: number;
  private wallAsOf: number;
  private floor = -Infinity;
  private asleep = false;
  private readonly pending = new Set<Waiting>();

  /** @param deliver runs what is due, unless the process is stopped or gone. */
  constructor(
    private readonly timeline: Timeline,
    private readonly shape: ClockShape,
    private readonly deliver: (run: () => void) => void,
  ) {
    this.mono = shape.monoMs;
    this.wall = shape.wallMs;
    this.monoAsOf = this.wallAsOf = timeline.nowMs;
  }

  /** Timers that have not fired. */
  get timers(): number {
    return this.pending.size;
  }

  monoMs(): number {
    const passed = this.asleep ? 0 : this.timeline.nowMs - this.monoAsOf;
    return Math.max(this.floor, this.mono + passed * this.shape.rate);
  }

  wallMs(): number {
    return this.wall + (this.timeline.nowMs - this.wallAsOf) * this.shape.rate;
  }

  now(): Instant {
    return { monoMs: this.monoMs(), wallMs: this.wallMs() };
  }

  after(delayMs: number, run: () => void): Timer {
    const timer: Waiting = { atMs: this.monoMs() + Math.max(0, delayMs), run };
    this.pending.add(timer);
    this.plan(timer);
    return {
      cancel: () => {
        this.pending.delete(timer);
        timer.planned?.cancel();
      },
    };
  }

  /** The machine sleeps: the monotonic clock stands still, the wall clock does not. */
  sleep(): void {
    this.rebase();
    this.asleep = true;
  }

  wake(): void {
    this.rebase();
    this.asleep = false;
  }

  /** Somebody sets the wall clock. */
  stepWall(byMs: number): void {
    this.wall += byMs;
  }

  /** The process is gone, and its timers with it. */
  forget(): void {
    for (const { planned } of this.pending) planned?.cancel();
    this.pending.clear();
  }

  private rebase(): void {
    this.mono = this.monoMs();
    this.monoAsOf = this.timeline.nowMs;
  }

  private plan(timer: Waiting): void {
    const leftMs = Math.max(0, timer.atMs - this.monoMs()) / this.shape.rate;
    timer.planned = this.timeline.at(this.timeline.nowMs + leftMs, () =>
      this.deliver(() => this.fire(timer)),
    );
  }

  private fire(timer: Waiting): void {
    if (!this.pending.has(timer)) return;
    // The machine slept meanwhile.
    if (this.monoMs() < timer.atMs - ROUNDING_MS) return this.plan(timer);
    this.pending.delete(timer);
    this.floor = Math.max(this.floor, timer.atMs);
    timer.run();
  }
}
