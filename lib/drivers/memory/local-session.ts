import type { Clock, KeptLease, Timer } from '../../core/index.js';

/** A session without grant or waiter is closed after this long (design D9). */
const IDLE_MS = 30_000;

/** One engine session of a driver: knows what rests on it, and asks to be closed when idle. */
export class LocalSession {
  /** Stops listening for the session's end. */
  ended: Disposable | undefined = undefined;
  /** Stops listening for grants of it that an operator ends. */
  revoked: Disposable | undefined = undefined;
  /** Who waits or holds. */
  private users = 0;
  private idleSinceMs = 0;
  private idle: Timer | undefined = undefined;

  constructor(
    readonly id: string,
    /** As asked for. */
    readonly leaseMs: number,
    readonly lease: KeptLease,
    private readonly clock: Clock,
    private readonly close: (session: LocalSession) => void,
  ) {}

  /** One more that waits or holds; it leaves by {@link leave}. */
  join(): void {
    this.users++;
  }

  /** It has given up, or its grant has ended. */
  leave(nowMs = this.clock.monoMs()): void {
    this.users--;
    if (this.users === 0) this.rest(nowMs);
  }

  stop(): void {
    this.ended?.[Symbol.dispose]();
    this.revoked?.[Symbol.dispose]();
    this.idle?.cancel();
  }

  private rest(nowMs: number): void {
    this.idleSinceMs = nowMs;
    // Set once and looked at when it rings: a timer for each short lock would cost more than the lock.
    this.idle ??= this.clock.after(IDLE_MS, () => this.lookIdle());
  }

  private lookIdle(): void {
    this.idle = undefined;
    if (this.users > 0) return;
    const leftMs = this.idleSinceMs + IDLE_MS - this.clock.monoMs();
    if (leftMs <= 0) this.close(this);
    else this.idle = this.clock.after(leftMs, () => this.lookIdle());
  }
}
