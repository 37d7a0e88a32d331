import type { RedisLink } from '../../redis-client/index.js';
import type { Sending } from './operations.js';
import type { StoreTime } from './store-time.js';

/** A tombstone outlives the last moment at which a copy may be executed by this long (design D4). */
const TOMBSTONE_MS = 5_000;

/**
 * What was sent of one acquire: whether a copy of it may still be under way when it is taken back. Replies of one
 * connection come in order, so an acquire whose every sending was answered, over one connection, has no copy left.
 */
export class Sendings {
  /** When the first sending left that nobody answered, on the monotonic clock. */
  unansweredSinceMs: number | undefined = undefined;
  private firstEpoch: number | undefined = undefined;
  private notAfterMs = 0;
  private unanswered = 0;

  /** Whether anything was sent at all. */
  get any(): boolean {
    return this.firstEpoch !== undefined;
  }

  sent(sending: Sending): void {
    this.firstEpoch ??= sending.epoch;
    this.notAfterMs = Math.max(this.notAfterMs, sending.notAfterMs);
    this.unanswered++;
    this.unansweredSinceMs ??= sending.sentAt.monoMs;
  }

  /** The sending just noted was answered. */
  answered(): void {
    this.unanswered--;
    if (this.unanswered === 0) this.unansweredSinceMs = undefined;
  }

  /** Whether a copy may be executed after everything known about this acquire. */
  mayHaveCopies(link: RedisLink): boolean {
    return this.any && (this.unanswered > 0 || !link.seesConnections || this.firstEpoch !== link.epoch);
  }

  /** Until when, in the server's clock, the id must stay dead; 0 if no copy can be under way. */
  tombstoneUntilMs(link: RedisLink, time: StoreTime, node: string): number {
    if (this.notAfterMs === 0 || !this.mayHaveCopies(link)) return 0;
    const untilMs = this.notAfterMs + TOMBSTONE_MS;
    return untilMs > (time.nowMs(node) ?? 0) ? untilMs : 0;
  }
}
