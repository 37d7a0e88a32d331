import type { Alarm } from './alarm-queue.js';
import { msUntil, shift, type Clock, type Instant } from './clock.js';
import { LockLostError } from './errors.js';
import type { Cohort, LeaseTenant, Loss } from './lease.js';
import {
  LATER,
  type DefiniteRelease,
  type DriverGrant,
  type Later,
  type ReleaseReader,
} from './lock-driver.js';
import { formatKey } from './lock-key.js';
import { LOSS_CODES } from './loss-codes.js';
import { allOf, eachOf, excluding, including, type Few } from './few.js';
import type { Frame } from './flow.js';
import type { Owner } from './owner.js';
import { earlier, isPast } from './validity.js';
import type { LinkedList } from './linked-list.js';

/** A grant is worth a warning once it was held for this many of its ttl. */
const LONG_HOLD_TTLS = 10;

/** What a hold asks of the instance it belongs to. */
export interface HoldHost {
  readonly clock: Clock;
  /** Gives the grant back to the store; definite; a late outcome is told the hold. Never rejects. */
  giveBack(hold: Hold, keepMs: number | undefined, now: Instant): DefiniteRelease | Later;
  /** A release that was answered later has its outcome. */
  givenBack(): void;
  settle(hold: Hold, ttlMs: number): Cohort;
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
export class Hold implements LeaseTenant, ReleaseReader {
  owner: Owner | undefined = undefined;
  list: LinkedList<LeaseTenant> | undefined = undefined;
  before: LeaseTenant | undefined = undefined;
  after: LeaseTenant | undefined = undefined;
  state: 'held' | 'releasing' | 'released' | 'lost' = 'held';
  loss: LockLostError | undefined = undefined;
  lostAtMs = 0;
  longHoldTold = false;
  private views: Few<HoldView> = undefined;
  private running: Few<Frame> = undefined;
  private cohort: Cohort;
  private fixedEnd: Instant | undefined = undefined;
  private maxEnd: Instant | undefined = undefined;
  private alarm: Alarm | undefined = undefined;
  private controller: AbortController | undefined = undefined;
  /** How its release went; LATER while the store has not answered. */
  private giving: DefiniteRelease | Later | undefined = undefined;
  private awaiting: Few<ReleaseReader> = undefined;

  constructor(
    private readonly host: HoldHost,
    readonly grant: DriverGrant,
    private readonly terms: HoldTerms,
    /** When the grant was read; not the start of any validity. */
    readonly grantedAt: Instant,
  ) {
    this.cohort = host.settle(this, terms.ttlMs);
    if (terms.localTtlMs !== undefined || !terms.renew || terms.maxHoldMs !== undefined) this.limit(terms);
  }

  /** Until when this grant is known to be held if nothing is renewed. */
  get deadline(): Instant {
    return earlier(earlier(this.cohort.deadline, this.fixedEnd), this.maxEnd);
  }

  /** Computed now; past the deadline the loss happens in this call. */
  get held(): boolean {
    return this.state === 'held' && this.heldAt(this.host.clock.now());
  }

  /** The same by a reading of both clocks made in this very turn. */
  heldAt(now: Instant): boolean {
    if (this.state !== 'held') return false;
    // The lease is over, and its grants are being told one by one: this one's turn comes by being asked.
    const { loss } = this.cohort.lease;
    if (loss !== undefined) {
      this.lose(loss, false);
      return false;
    }
    if (!this.cohort.isPast(now) && !this.isPastOwnEnd(now)) return true;
    this.expire(now);
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

  /** Frames of sections now running on this grant (design D10). */
  get frames(): readonly Frame[] {
    return allOf(this.running);
  }

  join(view: HoldView): void {
    this.views = including(this.views, view);
  }

  /**
   * One view lets go; the last one gives the grant back. Undefined: others still hold. A loss that is due now happens first,
   * and then nobody has released anything.
   */
  part(view: HoldView, now: Instant): DefiniteRelease | Later | undefined {
    const held = this.heldAt(now);
    if (this.loss !== undefined) return 'lost';
    this.views = excluding(this.views, view);
    if (this.views !== undefined) return undefined;
    return held ? this.handBack(now) : (this.giving ?? 'lost');
  }

  /** Gives the grant back whoever still shares it. Once; later calls get the same answer. */
  giveBack(now: Instant = this.host.clock.now()): DefiniteRelease | Later {
    if (this.giving !== undefined) return this.giving;
    return this.heldAt(now) ? this.handBack(now) : 'lost';
  }

  private handBack(now: Instant): DefiniteRelease | Later {
    this.state = 'releasing';
    this.quit();
    const giving = this.host.giveBack(this, this.keepMs(), now);
    this.giving = giving;
    if (giving !== LATER) this.given(giving);
    return giving;
  }

  /** The store has answered the release, later than it was asked. */
  givenBack(outcome: DefiniteRelease): void {
    this.given(outcome);
    this.host.givenBack();
  }

  private given(outcome: DefiniteRelease): void {
    if (this.state !== 'releasing') return;
    this.state = 'released';
    this.giving = outcome;
    this.host.released(this, outcome);
    if (this.awaiting !== undefined) this.tellAwaiting(outcome);
  }

  private tellAwaiting(outcome: DefiniteRelease): void {
    eachOf(this.awaiting, (reader) => reader.givenBack(outcome));
    this.awaiting = undefined;
  }

  /** Tells `reader` in the turn in which the store's answer to the release under way is read. */
  whenGivenBack(reader: ReleaseReader): void {
    this.awaiting = including(this.awaiting, reader);
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
    this.controller?.abort(this.loss);
    for (const view of allOf(this.views)) view.holdLost();
    this.host.lost(this, loss);
    // A live session would keep the lock for ever: what is lost here is given back there (WK-10), once everybody on this side
    // was told, since somebody else may have it before this call returns.
    if (releaseToo) void this.host.giveBack(this, undefined, this.host.clock.now());
  }

  /** Loses this grant alone, whatever its lease; the store is told. */
  loseAlone(reason: Loss['reason'], code: string = LOSS_CODES[reason]): void {
    this.lose({ reason, code }, true);
  }

  /** Asks for another ttl within the same lease; the deadline can only come nearer than the lease's own. */
  resettle(ttlMs: number): void {
    this.cohort.tenants.delete(this);
    this.cohort = this.host.settle(this, ttlMs);
  }

  enter(frame: Frame): void {
    this.running = including(this.running, frame);
  }

  exit(frame: Frame): void {
    this.running = excluding(this.running, frame);
  }

  /** It ends at the latest when its own terms say so, however long its lease lives. */
  private limit({ localTtlMs, renew, maxHoldMs }: HoldTerms): void {
    if (localTtlMs !== undefined || !renew) this.fixedEnd = this.endAfter(localTtlMs ?? this.plainEndMs());
    if (maxHoldMs !== undefined) this.maxEnd = this.endAfter(maxHoldMs);
    this.watch();
  }

  private isPastOwnEnd(now: Instant): boolean {
    const { fixedEnd, maxEnd } = this;
    return (fixedEnd !== undefined && isPast(fixedEnd, now)) || (maxEnd !== undefined && isPast(maxEnd, now));
  }

  private expire(now: Instant): void {
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
    this.cohort.tenants.delete(this);
    this.alarm?.cancel();
  }

  /** Without renewal the hold ends a ttl after the grant although its session may live on. */
  private plainEndMs(): number {
    return Math.max(1, msUntil(this.cohort.deadline, this.cohort.lease.sentAt));
  }

  private endAfter(ms: number): Instant {
    return shift(this.grantedAt, ms);
  }

  private keepMs(): number | undefined {
    const { atLeastMs } = this.terms;
    if (atLeastMs === undefined) return undefined;
    return Math.max(0, Math.ceil(atLeastMs - this.heldMs));
  }
}
