import type { Clock, KeptLease, Timer } from '../../core/index.js';

/** A session without grant or waiter is closed after this long (design D9). */
const IDLE_MS = 30_000;

/** One engine session of a driver: knows what rests on it, and asks to be closed when idle. */
export class LocalSession {
  /** Stops listening for the session's end. */
  ended: Disposable | undefined = undefined;
  /** Stops listening for grants of it that an operator ends. */
  revoked: Disposable | undefined = undefined;
  private waiters = 0;
  private grants = 0;
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

  /** One more waiter; it leaves by {@link settled} or {@link gaveUp}. */
  wait(): void {
    this.waiters++;
  }

  /** The waiter holds now. */
  settled(): void {
    this.waiters--;
    this.grants++;
  }

  /** The waiter went away without a grant. */
  gaveUp(): void {
    this.waiters--;
    this.restIfIdle(this.clock.monoMs());
  }

  /** A grant has ended. */
  drop(nowMs: number): void {
    this.grants--;
    this.restIfIdle(nowMs);
  }

  stop(): void {
    this.ended?.[Symbol.dispose]();
    this.revoked?.[Symbol.dispose]();
    this.idle?.cancel();
  }

  private restIfIdle(nowMs: number): void {
    if (this.isUsed) return;
    this.idleSinceMs = nowMs;
    // Set once and looked at when it rings: a timer for each short lock would cost more than the lock.
    this.idle ??= this.clock.after(IDLE_MS, () => this.lookIdle());
  }

  private get isUsed(): boolean {
    return this.waiters > 0 || this.grants > 0;
  }

  private lookIdle(): void {
    this.idle = undefined;
    if (this.isUsed) return;
    const leftMs = this.idleSinceMs + IDLE_MS - this.clock.monoMs();
    if (leftMs <= 0) this.close(this);
    else this.idle = this.clock.after(leftMs, () => this.lookIdle());
  }
}
