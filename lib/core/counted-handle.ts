import type { Clock, Instant } from './clock.js';
import { LockLostError, LockNotHeldError } from './errors.js';
import { FENCE_PROOF, type FenceProof } from './fence-proof.js';
import type { Hold, HoldView } from './hold.js';
import { LATER, type DefiniteRelease, type Later } from './lock-driver.js';
import type { LockEnd, LockHandle, ReleaseOutcome } from './lock-handle.js';
import { formatKey, type LockKey } from './lock-key.js';
import { ReleaseWait, type ReleasingHandle } from './release-wait.js';
import { DEFAULT_HOLD_UNTIL_MS, checkDuration, optionError, refuseUnknown } from './options.js';

/** What a handle asks of its instance. */
export interface HandleHost {
  /** The store's name, for the fence's proof. */
  readonly store: string;
  readonly clock: Clock;
  /** Tells `wait` the store's word on a release under way, but not later than after `timeoutMs`; then that is reported. */
  await(hold: Hold, now: Instant, timeoutMs: number, wait: ReleaseWait): void;
  readonly releaseTimeoutMs: number;
  /** A handle was released for the first time after its lock was lost. */
  releasedLost(hold: Hold): void;
  /** A section that took a handle has ended. */
  leaveSection(): void;
  extend(hold: Hold, ttlMs: number | undefined): Promise<void>;
}

const RELEASED = Promise.resolve<ReleaseOutcome>('released');
const LOST = Promise.resolve<ReleaseOutcome>('lost');

/** One view of a hold: the handle of its acquire, or a counted re-entry. */
export class CountedHandle implements LockHandle, HoldView, ReleasingHandle {
  static {
    // A promise asks whatever it is resolved with for `then`, along all prototypes: found here, it is found at once.
    Object.defineProperty(CountedHandle.prototype, 'then', { value: undefined });
  }

  private outcome: Promise<ReleaseOutcome> | undefined = undefined;
  /** When it was released by its holder; a loss is known to the hold. */
  private releasedAtMs: number | undefined = undefined;
  private ended: Promise<LockEnd> | undefined = undefined;
  private resolveEnded: ((end: LockEnd) => void) | undefined = undefined;
  private pins = 0;
  private whenUnpinned: (() => void) | undefined = undefined;
  /** A section took this handle, and ends once its release has an outcome. */
  private leaving = false;

  constructor(
    /** @internal */
    readonly host: HandleHost,
    /** @internal */
    readonly hold: Hold,
    readonly key: LockKey,
  ) {
    hold.join(this);
  }

  get token(): string {
    // A token someone has seen must not become the next holder's (design D13).
    this.hold.grant.pin?.();
    return this.hold.grant.token;
  }

  get fence(): bigint {
    return this.hold.grant.fence;
  }

  /** @internal */
  get [FENCE_PROOF](): FenceProof {
    return { fence: this.fence, key: this.hold.grant.key, store: this.host.store };
  }

  get held(): boolean {
    return this.outcome === undefined && this.hold.held;
  }

  get remainingMs(): number {
    return this.outcome === undefined ? this.hold.remainingMs : 0;
  }

  get signal(): AbortSignal {
    return this.hold.signal;
  }

  get done(): Promise<LockEnd> {
    if (this.ended === undefined) {
      const end = this.endSoFar();
      this.ended =
        end !== undefined ? Promise.resolve(end) : new Promise((resolve) => (this.resolveEnded = resolve));
    }
    return this.ended;
  }

  assertHeld(forMs?: number): void {
    const neededMs = forMs === undefined ? 0 : checkDuration('forMs', forMs);
    const leftMs = this.remainingMs;
    if (this.held && leftMs >= neededMs) return;
    if (this.hold.loss !== undefined) throw this.lostNow(this.hold.loss);
    const problem = this.held
      ? `is known to be held for ${Math.floor(leftMs)} ms only, not ${neededMs}`
      : 'was released';
    throw new LockNotHeldError(`lock ${formatKey(this.key)} ${problem}`, { key: this.key });
  }

  async extend(ttlMs?: number): Promise<void> {
    if (ttlMs !== undefined) checkDuration('ttlMs', ttlMs);
    this.assertHeld();
    await this.host.extend(this.hold, ttlMs);
  }

  release(options?: { readonly timeoutMs?: number }): Promise<ReleaseOutcome> {
    return this.releaseWithin(options === undefined ? this.host.releaseTimeoutMs : this.timeoutOf(options));
  }

  /** Never rejects: a release with a bad timeout is still a release. */
  private timeoutOf(options: { readonly timeoutMs?: number }): number {
    try {
      refuseUnknown('release', options, ['timeoutMs']);
      return checkDuration('timeoutMs', options.timeoutMs);
    } catch {
      return this.host.releaseTimeoutMs;
    }
  }

  holdUntil(work: PromiseLike<unknown>, options: { readonly maxMs?: number } = {}): void {
    refuseUnknown('holdUntil', options, ['maxMs']);
    if (typeof work?.then !== 'function') throw optionError('work', 'a promise', work);
    const maxMs = options.maxMs === undefined ? DEFAULT_HOLD_UNTIL_MS : checkDuration('maxMs', options.maxMs);
    this.assertHeld();
    this.pins++;
    let pinned = true;
    const unpin = (): void => {
      if (!pinned) return;
      pinned = false;
      timer.cancel();
      this.unpin();
    };
    const timer = this.host.clock.after(maxMs, unpin);
    void Promise.resolve(work).then(unpin, unpin);
  }

  /**
   * Ends the section that took this handle: now, or when the work of `holdUntil` has settled; the host is told at the true end.
   * A loss that is due has happened when this returns.
   * @internal
   */
  leave(): Promise<ReleaseOutcome> {
    if (this.pins === 0) return this.releaseSection();
    this.whenUnpinned = () => void this.releaseSection();
    // Reading it performs a loss that is due.
    void this.hold.held;
    return RELEASED;
  }

  /** A release never rejects, and one that is answered at once needs no turn to say so. */
  private releaseSection(): Promise<ReleaseOutcome> {
    if (this.outcome !== undefined) return this.release().then((how) => (this.host.leaveSection(), how));
    this.leaving = true;
    const outcome = this.release();
    if (outcome === RELEASED || outcome === LOST) this.host.leaveSection();
    return outcome;
  }

  holdLost(): void {
    if (this.outcome === undefined) this.tellEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  private unpin(): void {
    this.pins--;
    if (this.pins === 0) this.whenUnpinned?.();
  }

  private releaseWithin(timeoutMs: number): Promise<ReleaseOutcome> {
    if (this.outcome !== undefined) return this.repeated(this.outcome);
    const now = this.host.clock.now();
    const given = this.hold.part(this, now);
    if (given === 'lost' && this.hold.loss !== undefined) return this.releasedLost();
    this.releasedAtMs = now.wallMs;
    this.tellEnd();
    const isDone = given === undefined || given === 'released';
    return (this.outcome = isDone ? RELEASED : this.outcomeOf(given, now, timeoutMs));
  }

  private releasedLost(): Promise<ReleaseOutcome> {
    this.host.releasedLost(this.hold);
    return (this.outcome = LOST);
  }

  private outcomeOf(
    given: DefiniteRelease | Later,
    now: Instant,
    timeoutMs: number,
  ): Promise<ReleaseOutcome> {
    return new Promise((resolve) => {
      const wait = new ReleaseWait(this, resolve);
      if (given !== LATER) wait.givenBack(given);
      else this.host.await(this.hold, now, timeoutMs, wait);
    });
  }

  /** @internal Once, although a store may answer after it was given up on. */
  toldEnd(): void {
    if (!this.leaving) return;
    this.leaving = false;
    this.host.leaveSection();
  }

  private async repeated(first: Promise<ReleaseOutcome>): Promise<ReleaseOutcome> {
    const outcome = await first;
    return outcome === 'released' ? 'already-released' : outcome;
  }

  private tellEnd(): void {
    const end = this.resolveEnded === undefined ? undefined : this.endSoFar();
    if (end !== undefined) this.resolveEnded?.(end);
  }

  private endSoFar(): LockEnd | undefined {
    if (this.releasedAtMs !== undefined) return { end: 'released', at: new Date(this.releasedAtMs) };
    const { loss, lostAtMs } = this.hold;
    return loss && { end: 'lost', at: new Date(lostAtMs), reason: loss.reason, code: loss.lossCode };
  }

  private lostNow(loss: LockLostError): LockLostError {
    return new LockLostError(loss.message, {
      key: this.key,
      fence: this.fence,
      reason: loss.reason,
      lossCode: loss.lossCode,
      cause: loss,
    });
  }
}
