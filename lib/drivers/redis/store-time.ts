import type { Clock } from '../../core/index.js';
import { isLargerDecimal } from './decimal.js';

interface Meeting {
  readonly storeMs: number;
  readonly atMonoMs: number;
  /** A name in a slot of this server, to reach it again. */
  readonly tree: string;
}

/**
 * What this client knows of the clocks of its Redis servers, and the largest fence or time it has met (design D4, D6).
 * An estimate is a lower bound: the reply had left when it was read, and the monotonic clock goes on from there.
 */
export class StoreTime {
  private readonly meetings = new Map<string, Meeting>();
  private largest = '0';

  constructor(private readonly clock: Clock) {}

  /** The largest fence or TIME (µs) met on this store, in decimal. */
  get seen(): string {
    return this.largest;
  }

  /** A reply of a server carried its TIME. */
  met(node: string, timeUs: string, tree: string): void {
    this.see(timeUs);
    this.meetings.set(node, {
      storeMs: Math.floor(Number(timeUs) / 1_000),
      atMonoMs: this.clock.monoMs(),
      tree,
    });
  }

  see(decimal: string): void {
    if (isLargerDecimal(decimal, this.largest)) this.largest = decimal;
  }

  /** Milliseconds since 1970 by the server's clock, at the least; undefined if it was never met. */
  nowMs(node: string): number | undefined {
    const meeting = this.meetings.get(node);
    return meeting === undefined
      ? undefined
      : Math.floor(meeting.storeMs + this.clock.monoMs() - meeting.atMonoMs);
  }

  /** A name in a slot of each server not met for `olderThanMs`. */
  notMetFor(olderThanMs: number): string[] {
    const since = this.clock.monoMs() - olderThanMs;
    return [...this.meetings.values()].filter(({ atMonoMs }) => atMonoMs <= since).map(({ tree }) => tree);
  }

  /** Connections changed: the server behind a name may be another one, with another clock. What was seen stays seen. */
  forget(): void {
    this.meetings.clear();
  }
}
