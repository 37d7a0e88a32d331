import type { Alarm } from './alarm-queue.js';
import { msUntil, shift, type Clock, type Instant } from './clock.js';
import { LockLostError } from './errors.js';
import type { Cohort, LeaseTenant, Loss } from './lease.js';
import type { DefiniteRelease, DriverGrant } from './lock-driver.js';
import { formatKey } from './lock-key.js';
import { LOSS_CODES } from './loss-codes.js';
import type { Frame } from './flow.js';
import type { Owner } from './owner.js';
import { earlier, isPast } from './validity.js';

/** A grant is worth a warning once it was held for this many of its ttl. */
const LONG_HOLD_TTLS = 10;

/** What a hold asks of the instance it belongs to. */
export interface HoldHost {
  readonly clock: Clock;
  /** Gives the grant back to the store; definite, perhaps late; never rejects. */
  giveBack(hold: Hold, keepMs: number | undefined): DefiniteRelease | Promise<DefiniteRelease>;
  settle(hold: Hold, ttlMs: number): Cohort;
  leave(hold: Hold): void;
  /** Ends what is past its deadline: the lease with everything on it, or this ttl's part of it. */
  expire(cohort: Cohort): void;
  at(monoMs: number, run: () => void): Alarm;
  lost(hold: Hold, loss: Loss): void;
  released(hold: Hold, outcome: DefiniteRelease): void;
}

export interface HoldTerms {
  readonly ttlMs: number;
  readonly renew: boolean;
  readonly localTtlMs: number | undefined;
  readonly maxHoldMs: number | undefined;
  readonly atLeastMs: number | undefined;
}

/** Someone who shares the grant: the handle that acquired it, and every counted re-entry. */
export interface HoldView {
  holdLost(): void;
}

/**
 * The client's side of one grant. Its end is decided once: by the last release, or by a loss; after a loss nothing revives it.
 * Whether it is held is computed when asked, from deadlines (design D2, D3).
 */
export class Hold implements LeaseTenant {
  readonly grantedAt: Instant;
  /** Frames of sections now running on this grant (design D10). */
  readonly frames: Frame[] = [];
  owner: Owner | undefined;
  state: 'held' | 'releasing' | 'released' | 'lost' = 'held';
  loss: LockLostError | undefined;
  lostAtMs = 0;
  longHoldTold = false;
  private readonly views: HoldView[] = [];
  private cohort: Cohort;
  private fixedEnd: Instant | undefined;
  private maxEnd: Instant | undefined;
  private alarm: Alarm | undefined;
  private controller: AbortController | undefined;
  private giving: DefiniteRelease | Promise<DefiniteRelease> | undefined;

  constructor(
    private readonly host: HoldHost,
    readonly grant: DriverGrant,
    private readonly terms: HoldTerms,
  ) {
    this.grantedAt = host.clock.now();
    this.cohort = host.settle(this, terms.ttlMs);
    if (terms.localTtlMs !== undefined || !terms.renew)
      this.fixedEnd = this.after(terms.localTtlMs ?? this.plainEndMs());
    if (terms.maxHoldMs !== undefined) this.maxEnd = this.after(terms.maxHoldMs);
    if (this.fixedEnd !== undefined || this.maxEnd !== undefined) this.watch();
  }

  /** Until when this grant is known to be held if nothing is renewed. */
  get deadline(): Instant {
    return earlier(earlier(this.cohort.deadline, this.fixedEnd), this.maxEnd);
  }

  /** Computed now; past the deadline the loss happens in this call. */
  get held(): boolean {
    if (this.state !== 'held') return false;
    // The lease is over, and its grants are being told one by one: this one's turn comes by being asked.
    const { loss } = this.cohort.lease;
    if (loss !== undefined) {
      this.lose(loss, false);
      return false;
    }
    const { clock } = this.host;
    const [monoMs, wallMs] = [clock.monoMs(), clock.wallMs()];
    if (!this.cohort.isPast(monoMs, wallMs) && !this.isPastOwnEnd(monoMs, wallMs)) return true;
    this.expire();
    return false;
  }

  get remainingMs(): number {
    return this.held ? Math.max(0, msUntil(this.deadline, this.host.clock.now())) : 0;
  }

  get heldMs(): number {
    return this.host.clock.monoMs() - this.grantedAt.monoMs;
  }

  get ttlMs(): number {
    return this.cohort.ttlMs;
  }

  get hasMaxHold(): boolean {
    return this.maxEnd !== undefined;
  }

  get isLongHeld(): boolean {
    return this.terms.maxHoldMs === undefined && this.heldMs > LONG_HOLD_TTLS * this.terms.ttlMs;
  }

  /** Shared by all views; made when first read, since most handles never use it. */
  get signal(): AbortSignal {
    if (this.state === 'held' && !this.held) return this.signal;
    this.controller ??= new AbortController();
    if (this.state === 'lost' && !this.controller.signal.aborted) this.controller.abort(this.loss);
    return this.controller.signal;
  }

  join(view: HoldView): void {
    this.views.push(view);
  }

  /** One view lets go; the last one gives the grant back. Undefined: others still hold. */
  part(view: HoldView): DefiniteRelease | Promise<DefiniteRelease> | undefined {
    remove(this.views, view);
    return this.views.length > 0 ? undefined : this.giveBack();
  }

  /** Gives the grant back whoever still shares it. Once; later calls get the same answer. */
  giveBack(): DefiniteRelease | Promise<DefiniteRelease> {
    if (this.state === 'held' && !this.held) return 'lost';
    if (this.state === 'lost') return 'lost';
    if (this.giving !== undefined) return this.giving;
    this.state = 'releasing';
    this.quit();
    this.giving = this.host.giveBack(this, this.keepMs());
    if (typeof this.giving === 'string') this.settleRelease(this.giving);
    else void this.giving.then((outcome) => this.settleRelease(outcome));
    return this.giving;
  }

  lose(loss: Loss, releaseToo: boolean): void {
    if (this.state !== 'held') return;
    this.state = 'lost';
    this.lostAtMs = this.host.clock.wallMs();
    this.quit();
    this.loss = new LockLostError(
      `lock ${formatKey(this.grant.key)} was lost: ${loss.reason} (${loss.code})`,
      {
        key: this.grant.key,
        fence: this.grant.fence,
        reason: loss.reason,
        lossCode: loss.code,
      },
    );
    // A live session would keep the lock for ever: what is lost here is given back there (WK-10).
    if (releaseToo) void Promise.resolve(this.host.giveBack(this, undefined)).catch(() => undefined);
    this.controller?.abort(this.loss);
    for (const view of [...this.views]) view.holdLost();
    this.host.lost(this, loss);
  }

  /** Loses this grant alone, whatever its lease; the store is told. */
  loseAlone(reason: Loss['reason'], code: string = LOSS_CODES[reason]): void {
    this.lose({ reason, code }, true);
  }

  /** Asks for another ttl within the same lease; the deadline can only come nearer than the lease's own. */
  resettle(ttlMs: number): void {
    this.host.leave(this);
    this.cohort = this.host.settle(this, ttlMs);
  }

  get currentCohort(): Cohort {
    return this.cohort;
  }

  enter(frame: Frame): void {
    this.frames.push(frame);
  }

  exit(frame: Frame): void {
    remove(this.frames, frame);
  }

  private isPastOwnEnd(monoMs: number, wallMs: number): boolean {
    const { fixedEnd, maxEnd } = this;
    if (fixedEnd !== undefined && (monoMs >= fixedEnd.monoMs || wallMs >= fixedEnd.wallMs)) return true;
    return maxEnd !== undefined && (monoMs >= maxEnd.monoMs || wallMs >= maxEnd.wallMs);
  }

  private expire(): void {
    const now = this.host.clock.now();
    if (this.maxEnd !== undefined && isPast(this.maxEnd, now)) this.loseAlone('max-hold');
    else if (this.fixedEnd !== undefined && isPast(this.fixedEnd, now)) this.loseAlone('expired');
    else this.host.expire(this.cohort);
  }

  private watch(): void {
    const end = earlier(this.fixedEnd ?? (this.maxEnd as Instant), this.maxEnd);
    this.alarm = this.host.at(
      this.host.clock.now().monoMs + Math.max(0, msUntil(end, this.host.clock.now())),
      () => {
        if (this.state === 'held' && this.held) this.watch();
      },
    );
  }

  private quit(): void {
    this.host.leave(this);
    this.alarm?.cancel();
  }

  private settleRelease(outcome: DefiniteRelease): void {
    if (this.state !== 'releasing') return;
    this.state = 'released';
    this.host.released(this, outcome);
  }

  /** Without renewal the hold ends a ttl after the grant although its session may live on. */
  private plainEndMs(): number {
    return Math.max(1, msUntil(this.cohort.deadline, this.cohort.lease.sentAt));
  }

  private after(ms: number): Instant {
    return shift(this.grantedAt, ms);
  }

  private keepMs(): number | undefined {
    const { atLeastMs } = this.terms;
    if (atLeastMs === undefined) return undefined;
    return Math.max(0, Math.ceil(atLeastMs - this.heldMs));
  }
}

/** Views and frames of one grant are few, mostly one: a list costs less than a set. */
function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
