import { setMaxListeners } from 'node:events';
import { Acquirer } from './acquirer.js';
import { AlarmQueue } from './alarm-queue.js';
import type { Clock, Instant } from './clock.js';
import { Emitter } from './emitter.js';
import { ClosedError, LockUnavailableError, type LossReason } from './errors.js';
import { Figures } from './figures.js';
import type { Hold, HoldHost } from './hold.js';
import type { HandleHost } from './counted-handle.js';
import type { Cohort, Lease, Loss } from './lease.js';
import { LeaseKeeper, type LeaseHost } from './lease-keeper.js';
import {
  LATER,
  type DefiniteRelease,
  type DriverGrant,
  type DriverHost,
  type DriverSettings,
  type KeptLease,
  type Later,
  type LeaseTerms,
  type LockDriver,
  type ReleaseReader,
  type RenewReply,
  type ServerChange,
} from './lock-driver.js';
import { formatKey, type LockKey } from './lock-key.js';
import { optionError } from './options.js';
import type { ReleaseWait } from './release-wait.js';
import type { Random } from './random.js';
import type { ResolvedOptions } from './resolve.js';
import { noTelemetry } from './telemetry.js';

/** What `close` spends at most after its grace: releases first, then the driver's own farewell. */
const CLOSE_BUDGET_MS = 900;

/**
 * The working half of a Klock: one driver, its leases, the grants held through it.
 * Views with different key prefixes share one instance.
 */
export class Instance implements DriverHost, LeaseHost, HoldHost, HandleHost, ReleaseReader {
  readonly events = new Emitter();
  readonly keeper: LeaseKeeper;
  readonly settings: DriverSettings;
  /** Undefined without telemetry, which then costs this comparison. */
  readonly figures: Figures | undefined;
  readonly acquirer: Acquirer;
  /** Ends waits for releases that are not answered; someone waits, so the process stays for it. */
  private readonly patience: AlarmQueue;
  private unanswered = 0;
  private allAnswered: (() => void) | undefined = undefined;
  private readonly closer = new AbortController();
  private sections = 0;
  private sectionsDone: (() => void) | undefined = undefined;
  private closing: Promise<void> | undefined = undefined;
  private told = true;
  private storeDown = false;

  constructor(
    readonly driver: LockDriver,
    readonly options: ResolvedOptions,
    readonly clock: Clock,
    readonly random: Random,
  ) {
    // Every waiting acquire listens to it: many listeners are no leak.
    setMaxListeners(0, this.closer.signal);
    this.settings = {
      ttlMs: options.ttlMs,
      clientName: options.clientName,
      renewEveryMs: options.renewEveryMs,
      renewTimeoutMs: options.renewTimeoutMs,
      releaseTimeoutMs: options.releaseTimeoutMs,
      marginMs: options.marginOf,
      handover: options.handover,
    };
    this.patience = new AlarmQueue(clock, true);
    this.keeper = new LeaseKeeper(this);
    this.figures = this.openFigures();
    driver.attach(this);
    this.acquirer = new Acquirer(this);
  }

  /** Aborts when the instance closes. */
  get closingSignal(): AbortSignal {
    return this.closer.signal;
  }

  // --- acquiring -------------------------------------------------------------------------------------------------

  tellGranted(hold: Hold, waitedMs: number): void {
    this.events.emit({ type: 'lock.granted', ...facts(hold), waitedMs });
  }

  // --- HoldHost --------------------------------------------------------------------------------------------------

  settle(hold: Hold, ttlMs: number): Cohort {
    return this.keeper.settle(hold.grant.lease as Lease, ttlMs, hold);
  }

  expire(cohort: Cohort): void {
    this.keeper.expireCohortIfPast(cohort);
  }

  at(monoMs: number, run: () => void): ReturnType<LeaseKeeper['at']> {
    return this.keeper.at(monoMs, run);
  }

  giveBack(hold: Hold, keepMs: number | undefined, now: Instant): DefiniteRelease | Later {
    hold.owner?.drop(hold);
    if (hold.state === 'releasing') this.figures?.releasing(hold);
    return this.release(hold.grant, keepMs, now, hold);
  }

  lost(hold: Hold, loss: Loss): void {
    hold.owner?.drop(hold);
    this.figures?.lost(hold, loss);
    const { reason, code, oldServer, newServer } = loss;
    this.events.emit({
      type: 'lock.lost',
      ...facts(hold),
      reason,
      code,
      heldMs: hold.heldMs,
      token: hold.grant.token,
      ...(oldServer === undefined ? undefined : { oldServer }),
      ...(newServer === undefined ? undefined : { newServer }),
    });
  }

  released(hold: Hold, outcome: DefiniteRelease): void {
    this.figures?.released(hold, outcome);
    if (this.events.has('lock.released')) this.tellReleased(hold, outcome);
  }

  private tellReleased(hold: Hold, outcome: DefiniteRelease): void {
    this.events.emit({
      type: 'lock.released',
      ...facts(hold),
      heldMs: hold.heldMs,
      outcome,
      token: hold.grant.token,
    });
  }

  /** Gives a grant back; `reader` is told an outcome that comes later, and tells {@link givenBack}. Never throws or rejects. */
  release(
    grant: DriverGrant,
    keepMs?: number,
    now?: Instant,
    reader: ReleaseReader = this,
  ): DefiniteRelease | Later {
    const answer = this.askRelease(grant, keepMs, now, this.releaseListened ? undefined : reader);
    if (typeof answer === 'string') return answer;
    this.unanswered++;
    if (answer !== LATER) this.readWhenAnswered(answer, reader);
    return LATER;
  }

  private readWhenAnswered(answer: Promise<DefiniteRelease>, reader: ReleaseReader): void {
    answer.then(
      (outcome) => reader.givenBack(outcome),
      (cause: unknown) => reader.givenBack(this.brokenRelease(cause)),
    );
  }

  givenBack(): void {
    this.unanswered--;
    if (this.unanswered === 0) this.allAnswered?.();
  }

  /** Listeners are called in the asynchronous context of who released, which a promise brings along. */
  private get releaseListened(): boolean {
    return this.figures !== undefined || this.events.has('lock.released');
  }

  private askRelease(
    grant: DriverGrant,
    keepMs: number | undefined,
    now: Instant | undefined,
    reader: ReleaseReader | undefined,
  ): ReturnType<LockDriver['release']> {
    try {
      return this.driver.release(grant, keepMs === undefined ? undefined : { keepMs }, now, reader);
    } catch (cause) {
      return this.brokenRelease(cause);
    }
  }

  private brokenRelease(cause: unknown): DefiniteRelease {
    this.warn('RELEASE_BROKEN', `the ${this.driver.name} driver failed to release, which it must not`, cause);
    return 'lost';
  }

  // --- HandleHost ------------------------------------------------------------------------------------------------

  get store(): string {
    return this.driver.store;
  }

  get releaseTimeoutMs(): number {
    return this.options.releaseTimeoutMs;
  }

  await(hold: Hold, now: Instant, timeoutMs: number, wait: ReleaseWait): void {
    wait.late = this.patience.at(now.monoMs + timeoutMs, () => {
      this.tellUnanswered(hold, timeoutMs);
      wait.giveUp();
    });
    hold.whenGivenBack(wait);
  }

  private tellUnanswered(hold: Hold, timeoutMs: number): void {
    const { key, fence } = hold.grant;
    const cause = new LockUnavailableError(
      `the store has not answered the release of ${formatKey(key)} within ${timeoutMs} ms`,
      { key, operation: 'release' },
    );
    this.figures?.released(hold, 'unknown', cause);
    this.events.emit({ type: 'release.failed', key, fence, outcome: 'unknown', cause });
  }

  releasedLost(hold: Hold): void {
    this.figures?.released(hold, 'lost');
  }

  async extend(hold: Hold, ttlMs: number | undefined): Promise<void> {
    const lease = hold.grant.lease as Lease;
    const wantedMs = ttlMs ?? hold.ttlMs;
    this.checkExtension(lease, wantedMs);
    const budgetMs = Math.max(
      1,
      Math.floor(Math.min(this.renewTimeoutMs ?? lease.renewEveryMs, lease.leftMs)),
    );
    const reply = await this.askExtension(hold, lease, wantedMs, budgetMs);
    if (hold.loss !== undefined) throw hold.loss;
    if (reply.outcome === 'renewed') {
      if (wantedMs !== hold.ttlMs && hold.state === 'held') hold.resettle(wantedMs);
      return;
    }
    const cause = reply.outcome === 'failed' ? reply.cause : undefined;
    throw new LockUnavailableError(`the store did not extend ${formatKey(hold.grant.key)}`, {
      key: hold.grant.key,
      operation: 'extend',
      cause,
    });
  }

  private checkExtension(lease: Lease, wantedMs: number): void {
    if (wantedMs <= this.marginOf(wantedMs)) {
      throw optionError('ttlMs', `above the safety margin of ${this.marginOf(wantedMs)} ms`, wantedMs);
    }
    const { extend, leaseUnitMs } = this.driver.capabilities;
    if (wantedMs % leaseUnitMs !== 0) throw optionError('ttlMs', `a multiple of ${leaseUnitMs} ms`, wantedMs);
    if (extend === 'renew' && wantedMs > lease.ms) {
      throw optionError(
        'ttlMs',
        `at most the session's lease of ${lease.ms} ms (acquire with a longer ttlMs instead)`,
        wantedMs,
      );
    }
  }

  private async askExtension(
    hold: Hold,
    lease: Lease,
    wantedMs: number,
    budgetMs: number,
  ): Promise<RenewReply> {
    const { driver } = this;
    if (driver.capabilities.extend === 'renew' || driver.extend === undefined)
      return await this.keeper.renewNow(lease, budgetMs);
    const extend = driver.extend.bind(driver);
    return await this.keeper.extend(lease, wantedMs, async () => {
      const sentMs = this.clock.monoMs();
      const reply = await extend(hold.grant, wantedMs, budgetMs).catch(failedRenewal);
      this.figures?.renewed(reply, this.clock.monoMs() - sentMs);
      return reply;
    });
  }

  // --- LeaseHost -------------------------------------------------------------------------------------------------

  get renewTimeoutMs(): number | undefined {
    return this.options.renewTimeoutMs;
  }

  marginOf(leaseMs: number): number {
    return this.options.marginOf(leaseMs);
  }

  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    const { figures } = this;
    return figures === undefined
      ? this.driver.renew(leases, timeoutMs)
      : this.renewMeasured(figures, leases, timeoutMs);
  }

  private async renewMeasured(
    figures: Figures,
    leases: readonly KeptLease[],
    timeoutMs: number,
  ): Promise<readonly RenewReply[]> {
    const sentMs = this.clock.monoMs();
    const replies = await this.driver
      .renew(leases, timeoutMs)
      .catch((cause: unknown) => leases.map(() => failedRenewal(cause)));
    const tookMs = this.clock.monoMs() - sentMs;
    for (const reply of replies) figures.renewed(reply, tookMs);
    return replies;
  }

  abandoned(lease: Lease, loss: Loss): void {
    this.driver.abandon(lease, loss.code);
  }

  jeopardy(lease: Lease, cause: unknown): void {
    this.figures?.jeopardy();
    this.events.emit({
      type: 'lease.jeopardy',
      sessionId: lease.id,
      remainingMs: lease.leftMs,
      locks: lease.grants,
      cause,
    });
  }

  renewedLease(lease: Lease, tookMs: number): void {
    if (this.events.has('lease.renewed'))
      this.events.emit({ type: 'lease.renewed', sessionId: lease.id, tookMs });
    this.tellLongHolds(lease);
  }

  /** Holds stand in their cohort in order of grant, so the long ones come first. */
  private tellLongHolds(lease: Lease): void {
    for (const cohort of lease.cohorts) {
      for (const tenant of cohort.tenants) {
        const hold = tenant as Hold;
        if (!hold.isLongHeld) break;
        if (hold.longHoldTold) continue;
        hold.longHoldTold = true;
        this.figures?.longHeld();
        this.events.emit({
          type: 'lock.long-held',
          key: hold.grant.key,
          fence: hold.grant.fence,
          heldMs: hold.heldMs,
        });
      }
    }
  }

  // --- DriverHost ------------------------------------------------------------------------------------------------

  openLease(terms: LeaseTerms): KeptLease {
    const { ttlMs, renewEveryMs } = this.settings;
    const own = terms.askedMs === ttlMs && renewEveryMs !== undefined ? { renewEveryMs } : undefined;
    return this.keeper.open({ ...own, ...terms });
  }

  endLease(lease: KeptLease, reason: LossReason, code: string, change?: ServerChange): void {
    this.keeper.end(lease as Lease, reason, code, change);
  }

  endGrant(grant: DriverGrant, reason: LossReason, code: string): void {
    const end = { reason, code };
    // Its answer may be on its way to whoever asked: then it is lost when it is read.
    grant.ended = end;
    for (const hold of (grant.lease as Lease).tenants()) {
      if ((hold as Hold).grant === grant) hold.lose(end, false);
    }
  }

  handedOver(): void {
    this.figures?.handedOver();
  }

  storeState(state: 'available' | 'unavailable', cause?: unknown): void {
    const down = state === 'unavailable';
    if (down === this.storeDown) return;
    this.storeDown = down;
    this.events.emit(down ? { type: 'store.unavailable', cause } : { type: 'store.available' });
  }

  warn(code: string, message: string, cause?: unknown): void {
    this.figures?.warned(code);
    this.events.emit({ type: 'warning', code, message, ...(cause === undefined ? undefined : { cause }) });
  }

  private openFigures(): Figures | undefined {
    const { telemetry } = this.options;
    if (telemetry === noTelemetry) return undefined;
    return new Figures(telemetry, this.driver.name, this.clock, (cause) =>
      this.warn(
        'TELEMETRY_FAILED',
        'the telemetry threw; locks are not concerned, figures are missing',
        cause,
      ),
    );
  }

  // --- closing ---------------------------------------------------------------------------------------------------

  get isClosing(): boolean {
    return this.closing !== undefined;
  }

  enterSection(): void {
    this.sections++;
  }

  leaveSection(): void {
    this.sections--;
    if (this.sections === 0) this.sectionsDone?.();
  }

  /** See `Klock.close`. A repeat waits for the first and, where the driver could not say farewell, tries that again. */
  close(graceMs: number): Promise<void> {
    if (this.closing === undefined) return (this.closing = this.shutDown(graceMs));
    return (this.closing = this.closing.then(async () => {
      if (!this.told) this.told = await this.farewell(CLOSE_BUDGET_MS);
    }));
  }

  private async shutDown(graceMs: number): Promise<void> {
    // Yield first: `closing` must be set before a waiter's rejection is translated.
    await Promise.resolve();
    const reason = this.closedError();
    this.closer.abort(reason);
    this.driver.abortWaits?.(reason);
    await this.sectionsEnd(graceMs);
    const deadlineMs = this.clock.monoMs() + CLOSE_BUDGET_MS;
    for (const hold of this.keeper.tenants()) (hold as Hold).loseAlone('closed');
    await this.within(this.releasesAnswered(), CLOSE_BUDGET_MS / 2);
    this.told = await this.farewell(Math.max(1, deadlineMs - this.clock.monoMs()));
    this.keeper.stop();
  }

  private async farewell(budgetMs: number): Promise<boolean> {
    try {
      return (await this.within(this.driver.close(budgetMs), budgetMs + 100)) ?? false;
    } catch (cause) {
      this.warn('CLOSE_BROKEN', `the ${this.driver.name} driver failed to close, which it must not`, cause);
      return false;
    }
  }

  private async sectionsEnd(graceMs: number): Promise<void> {
    if (this.sections === 0) return;
    const done = new Promise<void>((resolve) => (this.sectionsDone = resolve));
    const running = this.sections;
    if (
      (await this.within(
        done.then(() => true),
        graceMs,
      )) === true
    )
      return;
    this.warn(
      'SECTIONS_ABANDONED',
      `closing gave ${running} running section(s) ${graceMs} ms; ${this.sections} had not ended and lose their locks`,
    );
  }

  closedError(key?: LockKey): ClosedError {
    const what = key === undefined ? '' : `: ${formatKey(key)} cannot be acquired`;
    return new ClosedError(`klock instance '${this.options.name}' is closed${what}`, {
      ...(key && { key }),
      operation: 'acquire',
    });
  }

  /** Resolves once no release is unanswered. */
  private releasesAnswered(): Promise<void> {
    if (this.unanswered === 0) return Promise.resolve();
    return new Promise((resolve) => (this.allAnswered = resolve));
  }

  /** The promise's value, or undefined after `timeoutMs`. The timer keeps the process alive: someone is waiting. */
  private async within<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
    let cancel: () => void = () => undefined;
    const late = new Promise<undefined>((resolve) => {
      const timer = this.clock.after(timeoutMs, () => resolve(undefined), { keepAlive: true });
      cancel = () => timer.cancel();
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      cancel();
    }
  }
}

function failedRenewal(cause: unknown): RenewReply {
  return { outcome: 'failed', cause };
}

function facts(hold: Hold): { readonly key: LockKey; readonly fence: bigint; readonly sessionId: string } {
  return { key: hold.grant.key, fence: hold.grant.fence, sessionId: hold.grant.lease.id };
}
