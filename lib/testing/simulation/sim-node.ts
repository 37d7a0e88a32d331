import { SimClock, type ClockShape } from './sim-clock.js';
import type { Timeline } from './timeline.js';

/** One process on a machine of its own: it can be stopped, put to sleep, killed and started again. */
export class SimNode {
  readonly clock: SimClock;
  alive = true;
  /** Counts the lives of the process: what belongs to an earlier one reaches nobody. */
  life = 1;
  private stops = 0;
  private deferred: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly timeline: Timeline,
    shape: ClockShape,
  ) {
    this.clock = new SimClock(timeline, shape, (run) => this.deliver(run));
  }

  /** Hands the process something: now, or when it runs again. */
  deliver(run: () => void): void {
    if (!this.alive) return;
    if (this.stops > 0) this.deferred.push(run);
    else run();
  }

  /** Stops it, as SIGSTOP does; its clocks go on. */
  pause(forMs: number): void {
    this.stops++;
    this.timeline.at(this.timeline.nowMs + forMs, () => this.go());
  }

  /** Puts its machine to sleep. */
  suspend(forMs: number): void {
    this.clock.sleep();
    this.stops++;
    this.timeline.at(this.timeline.nowMs + forMs, () => {
      this.clock.wake();
      this.go();
    });
  }

  kill(): void {
    this.alive = false;
    this.deferred = [];
    this.clock.forget();
  }

  restart(): void {
    this.alive = true;
    this.life++;
  }

  /** What arrived meanwhile is worked off one by one, each to its end. */
  private go(): void {
    this.stops--;
    if (this.stops > 0) return;
    const { deferred, life } = this;
    this.deferred = [];
    for (const run of deferred) {
      this.timeline.at(this.timeline.nowMs, () => {
        if (this.life === life) this.deliver(run);
      });
    }
  }
}
