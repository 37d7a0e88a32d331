import type { Clock, Timer } from '../core/index.js';
import type { Grant } from '../engine/index.js';
import type { OpenCall } from './open-call.js';
import { UNDELIVERED_KEEP_MS } from './server-limits.js';

interface Doubt {
  /** Calls on which the grant is being answered. */
  open: number;
  timer: Timer | undefined;
}

/**
 * Sees to it that no lock is kept by a client that was never told it has it: a grant none of whose answers could be
 * written is given back after a moment, in which a repeat of the request still finds it.
 *
 * Safe, since a client takes an answer for one only when its last frame has come, and that is sent after the message
 * was written whole.
 */
export class Deliveries {
  private readonly delivered = new WeakSet<Grant>();
  private readonly doubts = new Map<Grant, Doubt>();

  constructor(
    private readonly clock: Clock,
    private readonly giveBack: (grant: Grant) => void,
  ) {}

  /** Grants whose answer has not got out yet. */
  get open(): number {
    return this.doubts.size;
  }

  /** The grant is about to be answered on this call. */
  answering(grant: Grant, call: OpenCall): void {
    if (this.delivered.has(grant)) return;
    const doubt = this.doubts.get(grant) ?? { open: 0, timer: undefined };
    this.doubts.set(grant, doubt);
    doubt.timer?.cancel();
    doubt.open += 1;
    call.onClose(() => this.closed(grant, doubt, call.written));
  }

  private closed(grant: Grant, doubt: Doubt, written: boolean): void {
    doubt.open -= 1;
    if (written) {
      this.delivered.add(grant);
      doubt.timer?.cancel();
      this.doubts.delete(grant);
    } else if (doubt.open === 0 && !this.delivered.has(grant)) {
      doubt.timer = this.clock.after(UNDELIVERED_KEEP_MS, () => {
        this.doubts.delete(grant);
        this.giveBack(grant);
      });
    }
  }
}
