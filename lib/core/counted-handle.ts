import { LockLostError, LockNotHeldError } from './errors.js';
import type { Hold, HoldView } from './hold.js';
import type { LockEnd, LockHandle, ReleaseOutcome } from './lock-handle.js';
import { formatKey, type LockKey } from './lock-key.js';
import { DEFAULT_HOLD_UNTIL_MS, checkDuration, optionError, refuseUnknown } from './options.js';

/** What a handle asks of its instance. */
export interface HandleHost {
  wallMs(): number;
  /** Waits for the store's word, but not longer than `timeoutMs`; then `unknown`, reported. */
  await(
    hold: Hold,
    release: Promise<'released' | 'already-released' | 'lost'>,
    timeoutMs: number,
  ): Promise<ReleaseOutcome>;
  readonly releaseTimeoutMs: number;
  extend(hold: Hold, ttlMs: number | undefined): Promise<void>;
  after(ms: number, run: () => void): { cancel(): void };
}

/** One view of a hold: the handle of its acquire, or a counted re-entry. */
export class CountedHandle implements LockHandle, HoldView {
  private outcome: Promise<ReleaseOutcome> | undefined;
  private end: LockEnd | undefined;
  private ended: Promise<LockEnd> | undefined;
  private resolveEnded: ((end: LockEnd) => void) | undefined;
  private pins = 0;
  private whenUnpinned: (() => void) | undefined;

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
    return this.hold.grant.token;
  }

  get fence(): bigint {
    return this.hold.grant.fence;
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
    this.ended ??=
      this.end !== undefined
        ? Promise.resolve(this.end)
        : new Promise((resolve) => (this.resolveEnded = resolve));
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

  release(options: { readonly timeoutMs?: number } = {}): Promise<ReleaseOutcome> {
    try {
      refuseUnknown('release', options, ['timeoutMs']);
      const timeoutMs =
        options.timeoutMs === undefined
          ? this.host.releaseTimeoutMs
          : checkDuration('timeoutMs', options.timeoutMs);
      return this.releaseWithin(timeoutMs);
    } catch {
      // Never rejects: a release with a bad timeout is still a release.
      return this.releaseWithin(this.host.releaseTimeoutMs);
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
    const timer = this.host.after(maxMs, unpin);
    void Promise.resolve(work).then(unpin, unpin);
  }

  /**
   * Ends the section that took this handle: now, or when the work of `holdUntil` has settled; `left` runs at the true end.
   * @internal
   */
  async leave(left: () => void): Promise<ReleaseOutcome> {
    if (this.pins === 0) return await this.release().finally(left);
    this.whenUnpinned = () => void this.release().finally(left);
    return 'released';
  }

  holdLost(error: LockLostError): void {
    if (this.outcome !== undefined) return;
    this.finish({ end: 'lost', at: this.date(), reason: error.reason, code: error.lossCode });
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
    // Read first: a loss that is due now must end the handle as lost, not as released.
    const lost = !this.hold.held && this.hold.loss !== undefined;
    const given = lost ? 'lost' : this.hold.part(this);
    if (given === 'lost' && this.hold.loss !== undefined) return (this.outcome = Promise.resolve('lost'));
    this.finish({ end: 'released', at: this.date() });
    if (given === undefined || typeof given === 'string')
      return (this.outcome = Promise.resolve(given ?? 'released'));
    return (this.outcome = this.host.await(this.hold, given, timeoutMs));
  }

  private async repeated(first: Promise<ReleaseOutcome>): Promise<ReleaseOutcome> {
    const outcome = await first;
    return outcome === 'released' ? 'already-released' : outcome;
  }

  private finish(end: LockEnd): void {
    if (this.end !== undefined) return;
    this.end = end;
    this.resolveEnded?.(end);
  }

  private date(): Date {
    return new Date(this.host.wallMs());
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
