import type { Clock, Timer } from './clock.js';

/** Below this many cancelled entries a clean-up costs more than it frees. */
const COMPACT_ABOVE = 64;

/** Something to do at an instant of the monotonic clock. */
export interface Alarm {
  readonly atMs: number;
  cancel(): void;
}

/** One alarm; `run` is gone once it has rung or was cancelled. */
class Entry implements Alarm {
  constructor(
    private readonly queue: AlarmQueue,
    readonly atMs: number,
    public run: (() => void) | undefined,
  ) {}

  cancel(): void {
    if (this.run === undefined) return;
    this.run = undefined;
    this.queue.cancelled();
  }
}

/** Any number of alarms behind one timer: a binary heap by time, cancelled entries dropped when they surface. */
export class AlarmQueue {
  private readonly heap: Entry[] = [];
  private timer: Timer | undefined = undefined;
  private timerAtMs = Infinity;
  private dead = 0;

  /** @param keepsAlive whether the process is kept alive while an alarm is set. */
  constructor(
    private readonly clock: Clock,
    private readonly keepsAlive = false,
  ) {}

  /** Runs `run` once at `atMs` or later. */
  at(atMs: number, run: () => void): Alarm {
    const entry = new Entry(this, atMs, run);
    this.push(entry);
    if (atMs < this.timerAtMs) this.arm(atMs);
    else if (this.keepsAlive && this.size === 1) this.timer?.keepAlive?.(true);
    return entry;
  }

  /** Drops every alarm and the timer. */
  clear(): void {
    this.heap.length = 0;
    this.dead = 0;
    this.timer?.cancel();
    this.timer = undefined;
    this.timerAtMs = Infinity;
  }

  /** Alarms that have not rung, cancelled ones not counted. */
  get size(): number {
    return this.heap.length - this.dead;
  }

  /** @internal Called by the entry. */
  cancelled(): void {
    this.dead++;
    if (this.keepsAlive && this.size === 0) this.timer?.keepAlive?.(false);
    if (this.dead > COMPACT_ABOVE && this.dead * 2 > this.heap.length) this.compact();
  }

  /** Long alarms of short locks would otherwise pile up until their time. */
  private compact(): void {
    const live = this.heap.filter((entry) => entry.run !== undefined);
    this.heap.length = 0;
    this.dead = 0;
    for (const entry of live) this.push(entry);
  }

  private arm(atMs: number): void {
    this.timer?.cancel();
    this.timerAtMs = atMs;
    this.timer = this.clock.after(atMs - this.clock.monoMs(), () => this.ring(), {
      keepAlive: this.keepsAlive,
    });
  }

  private ring(): void {
    this.timer = undefined;
    this.timerAtMs = Infinity;
    const nowMs = this.clock.monoMs();
    for (let first = this.heap[0]; first !== undefined && first.atMs <= nowMs; first = this.heap[0]) {
      this.pop();
      const { run } = first;
      if (run === undefined) this.dead--;
      // Rung: a later cancel finds nothing to do.
      first.run = undefined;
      run?.();
    }
    this.dropCancelled();
    const next = this.heap[0];
    if (next !== undefined && next.atMs < this.timerAtMs) this.arm(next.atMs);
  }

  private dropCancelled(): void {
    while (this.heap[0] !== undefined && this.heap[0].run === undefined) {
      this.pop();
      this.dead--;
    }
  }

  private push(entry: Entry): void {
    const { heap } = this;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.entry(parent).atMs <= entry.atMs) break;
      heap[index] = this.entry(parent);
      index = parent;
    }
    heap[index] = entry;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.entry(child + 1).atMs < this.entry(child).atMs) child++;
      if (this.entry(child).atMs >= last.atMs) break;
      heap[index] = this.entry(child);
      index = child;
    }
    heap[index] = last;
  }

  private entry(index: number): Entry {
    return this.heap[index] as Entry;
  }
}
