import { CountedHandle } from './counted-handle.js';
import { systemClock, type Clock } from './clock.js';
import {
  InvalidOptionError,
  LockLostError,
  LockReentryError,
  LockTimeoutError,
  isLockError,
} from './errors.js';
import type { PendingAcquire } from './figures.js';
import { currentFrame, judge, runInFrame, runOutsideFlow, type Frame } from './flow.js';
import { Candidacy, checkElection, type Election, type ElectionOptions } from './election.js';
import type { Hold } from './hold.js';
import { Instance } from './instance.js';
import type { Klock, Work } from './klock.js';
import type { Capabilities, DriverBusy, LockDriver } from './lock-driver.js';
import type { LockEvent } from './lock-events.js';
import type { LockHandle, LockOwner, ReleaseOutcome } from './lock-handle.js';
import { formatKey, keyCovers, parseKey, type KeyInput, type LockKey } from './lock-key.js';
import type { LockReport } from './lock-report.js';
import {
  DEFAULT_GRACE_MS,
  checkKeyPrefix,
  checkDuration,
  optionError,
  refuseUnknown,
  type AcquireOptions,
  type KlockOptions,
  type TryOptions,
} from './options.js';
import { Owner } from './owner.js';
import { quote } from './quote.js';
import { systemRandom, type Random } from './random.js';
import { plainAcquire, resolveAcquire, resolveOptions, type ResolvedAcquire } from './resolve.js';
import { ENTER_SECTION, type Section, type SectionOptions, type Sections } from './section.js';

type Call = 'acquire' | 'tryAcquire' | 'withLock' | 'section';

/** A Klock over one instance, with the prefix its keys get. */
class FrontEnd implements Klock, Sections {
  private readonly plain: ResolvedAcquire;

  constructor(
    private readonly instance: Instance,
    private readonly prefix: string,
    private readonly isView: boolean,
  ) {
    this.plain = plainAcquire(instance.options);
  }

  get name(): string {
    return this.instance.options.name;
  }

  get capabilities(): Capabilities {
    return this.instance.driver.capabilities;
  }

  /** The store's name for `Klock-Fence`. */
  get store(): string {
    return this.instance.driver.store;
  }

  /** The driver, for health and adapters. */
  get driver(): LockDriver {
    return this.instance.driver;
  }

  /** Leases whose last renewal failed, for health. */
  get inJeopardy(): number {
    return this.instance.keeper.inJeopardy;
  }

  async acquire(key: KeyInput, options?: AcquireOptions): Promise<LockHandle> {
    const terms = this.terms('acquire', options);
    const parsed = parseKey(key);
    const handle = this.share(parsed, terms) ?? this.request(parsed, terms, 'acquire');
    const answer = 'then' in handle ? await handle : handle;
    if (answer instanceof CountedHandle) return answer;
    throw this.timedOut(parsed, terms.waitMs, answer);
  }

  async tryAcquire(key: KeyInput, options?: TryOptions): Promise<LockHandle | undefined> {
    const terms = { ...this.terms('tryAcquire', options), waitMs: 0 };
    const parsed = parseKey(key);
    const handle = this.share(parsed, terms) ?? (await this.request(parsed, terms, 'tryAcquire'));
    return handle instanceof CountedHandle ? handle : undefined;
  }

  withLock<T>(key: KeyInput, work: Work<T>): Promise<T>;
  withLock<T>(key: KeyInput, options: AcquireOptions, work: Work<T>): Promise<T>;
  async withLock<T>(key: KeyInput, optionsOrWork: AcquireOptions | Work<T>, maybeWork?: Work<T>): Promise<T> {
    const options = typeof optionsOrWork === 'function' ? undefined : optionsOrWork;
    const work = typeof optionsOrWork === 'function' ? optionsOrWork : maybeWork;
    if (typeof work !== 'function') throw optionError('work', 'a function', work);
    const section = await this.enter(key, this.terms('withLock', options), 'withLock');
    return await runSection(section, () => work(section.handle));
  }

  async [ENTER_SECTION](key: KeyInput, options?: SectionOptions): Promise<Section> {
    return await this.enter(key, this.terms('section', options), 'section');
  }

  current(key?: KeyInput): LockHandle | undefined {
    const wanted = key === undefined ? undefined : this.full(parseKey(key));
    for (let frame = currentFrame(); frame !== undefined; frame = frame.parent) {
      if (frame.instance !== this.instance || !frame.handle.held) continue;
      if (wanted === undefined || keyCovers(frame.hold.grant.key, wanted)) return frame.handle;
    }
    return undefined;
  }

  owner(): LockOwner {
    return new Owner(this.instance.random.id(), this.instance);
  }

  elect(key: KeyInput, options: ElectionOptions): Election {
    const { signal, ttlMs, metadata } = checkElection(options);
    const parsed = parseKey(key);
    this.full(parsed);
    // Refused now what acquire would refuse later, where nobody would see it.
    this.terms('acquire', { signal, ttlMs, metadata });
    if (this.instance.isClosing) throw this.instance.closedError(parsed);
    const { clock, random } = this.instance;
    const host = {
      clock,
      random,
      acquire: (wanted: LockKey, terms: AcquireOptions) => this.acquire(wanted, terms),
      warn: (code: string, message: string, cause?: unknown) => this.instance.warn(code, message, cause),
    };
    return runOutsideFlow(() => new Candidacy(host, parsed, options));
  }

  async isLocked(key: KeyInput): Promise<boolean> {
    return (await this.inspect(key)).locked;
  }

  async inspect(key: KeyInput): Promise<LockReport> {
    return await this.instance.driver.inspect(this.full(parseKey(key)));
  }

  async releaseToken(key: KeyInput, token: string): Promise<void> {
    const full = this.full(parseKey(key));
    await this.instance.driver.releaseToken(full, checkToken(token));
  }

  async extendToken(key: KeyInput, token: string, ttlMs: number): Promise<void> {
    const full = this.full(parseKey(key));
    await this.instance.driver.extendToken(full, checkToken(token), checkDuration('ttlMs', ttlMs));
  }

  on<E extends LockEvent['type']>(
    type: E,
    listener: (event: Extract<LockEvent, { type: E }>) => void,
  ): Disposable {
    if (typeof listener !== 'function') throw optionError('listener', 'a function', listener);
    return this.instance.events.on(type, listener);
  }

  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    refuseUnknown('close', options, ['graceMs']);
    const graceMs =
      options.graceMs === undefined ? DEFAULT_GRACE_MS : checkDuration('graceMs', options.graceMs);
    if (!this.isView) await this.instance.close(graceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The same instance with a further prefix before every key. */
  view(prefix: string): FrontEnd {
    return new FrontEnd(this.instance, `${this.prefix}${checkKeyPrefix('prefix', prefix)}/`, true);
  }

  private full(key: LockKey): LockKey {
    if (this.prefix === '') return key;
    // Parsed again: the prefix counts towards the segment's bytes.
    return parseKey(key.length === 1 ? [this.prefix + key[0]] : [this.prefix + key[0], key[1]]);
  }

  private terms(call: Call, options: SectionOptions | undefined): ResolvedAcquire {
    if (options === undefined) return this.plain;
    return resolveAcquire(this.instance.options, this.plain, this.capabilities, call, options);
  }

  /** A handle on a grant that the owner or flow already has, decided now; undefined: an ordinary acquire. */
  private share(key: LockKey, terms: ResolvedAcquire): CountedHandle | undefined {
    const shared = this.reentered(this.full(key), terms, this.ownerOf(terms));
    if (shared === undefined) return undefined;
    this.instance.figures?.reentered();
    return new CountedHandle(this.instance, shared, key);
  }

  /** Answers at once where the driver does: the in-process path costs no turn of the event loop. */
  private request(
    key: LockKey,
    terms: ResolvedAcquire,
    call: Call,
  ): CountedHandle | DriverBusy | Promise<CountedHandle | DriverBusy> {
    const full = this.full(key);
    const startedMs = this.instance.clock.monoMs();
    const pending = this.instance.figures?.acquiring(full, call, terms.label);
    const failed = (error: unknown): never => {
      pending?.failed(error);
      this.failed(full, isLockError(error) ? error.code : 'UNKNOWN', startedMs);
      throw error;
    };
    const answered = (hold: Hold | DriverBusy): CountedHandle | DriverBusy => {
      if (pending !== undefined) this.report(pending, hold, key, terms, call);
      return this.answered(key, terms, hold, startedMs);
    };
    try {
      const hold = this.instance.obtain(full, terms, startedMs);
      return 'then' in hold ? hold.then(answered, failed) : answered(hold);
    } catch (error) {
      return failed(error);
    }
  }

  private answered(
    key: LockKey,
    terms: ResolvedAcquire,
    hold: Hold | DriverBusy,
    startedMs: number,
  ): CountedHandle | DriverBusy {
    if (!('grant' in hold)) {
      this.failed(this.full(key), 'LOCK_TIMEOUT', startedMs);
      return hold;
    }
    this.ownerOf(terms)?.add(hold);
    return new CountedHandle(this.instance, hold, key);
  }

  private report(
    pending: PendingAcquire,
    answer: Hold | DriverBusy,
    key: LockKey,
    terms: ResolvedAcquire,
    call: Call,
  ): void {
    if ('grant' in answer) pending.granted(answer);
    else pending.busy(call === 'tryAcquire' ? undefined : this.timedOut(key, terms.waitMs, answer));
  }

  private ownerOf(terms: ResolvedAcquire): Owner | undefined {
    return terms.owner === undefined ? undefined : ownerOf(terms.owner, this.instance);
  }

  private failed(key: LockKey, code: string, startedMs: number): void {
    const { instance } = this;
    if (!instance.events.has('acquire.failed')) return;
    instance.events.emit({
      type: 'acquire.failed',
      key,
      code,
      waitedMs: instance.clock.monoMs() - startedMs,
    });
  }

  /** The grant to share, by owner or by flow; undefined: an ordinary acquire. @throws LockReentryError (design D10) */
  private reentered(key: LockKey, terms: ResolvedAcquire, owner: Owner | undefined): Hold | undefined {
    const owned = owner?.covering(key);
    if (owned !== undefined) return this.count(key, terms, owned, `owner ${owner?.id ?? ''}`);
    const below = owner?.conflicting(key);
    if (below !== undefined)
      throw this.reentryError(
        key,
        terms,
        `the same owner holds ${formatKey(below.grant.key)} below it and would wait for itself`,
      );
    const flow = judge(this.store, key);
    switch (flow.verdict) {
      case 'free':
        return undefined;
      case 'covered':
        return this.count(key, terms, flow.frame.hold, place(flow.frame));
      case 'parallel':
        throw this.reentryError(
          key,
          terms,
          `a parallel branch of the same flow, ${place(flow.frame)}, is inside it`,
        );
      case 'upgrade':
        throw this.reentryError(
          key,
          terms,
          `the same flow already holds ${formatKey(flow.frame.hold.grant.key)} below it (${place(flow.frame)}) and would wait for itself`,
        );
    }
  }

  private count(key: LockKey, terms: ResolvedAcquire, hold: Hold, holder: string): Hold {
    if (terms.reentry === 'count') return hold;
    throw this.reentryError(
      key,
      terms,
      `${holder} already holds ${formatKey(hold.grant.key)}; pass reentry: 'count' to share it`,
    );
  }

  private reentryError(key: LockKey, terms: ResolvedAcquire, why: string): LockReentryError {
    const who = terms.label === undefined ? '' : `${terms.label}: `;
    const error = new LockReentryError(`${who}${formatKey(key)} cannot be acquired: ${why}`, { key });
    this.instance.figures?.refused(error);
    return error;
  }

  private async enter(input: KeyInput, terms: ResolvedAcquire, call: Call): Promise<HeldSection> {
    const key = parseKey(input);
    // A shared lock's frame is made in the turn of its verdict, or two branches would both be let in.
    const shared = this.share(key, terms);
    this.instance.enterSection();
    if (shared !== undefined) return this.section(shared, key, terms);
    try {
      const handle = await this.request(key, terms, call);
      if (!(handle instanceof CountedHandle)) throw this.timedOut(key, terms.waitMs, handle);
      return this.section(handle, key, terms);
    } catch (error) {
      this.instance.leaveSection();
      throw error;
    }
  }

  private section(handle: CountedHandle, key: LockKey, terms: ResolvedAcquire): HeldSection {
    return new HeldSection(this.instance, this.frame(handle, key, terms.label), handle);
  }

  private frame(handle: CountedHandle, key: LockKey, label: string | undefined): Frame {
    const { hold } = handle;
    return {
      parent: currentFrame(),
      store: this.store,
      key: this.full(key),
      hold,
      handle,
      label,
      instance: this.instance,
    };
  }

  private timedOut(key: LockKey, waitMs: number, busy: DriverBusy): LockTimeoutError {
    const holder = busy.holder === undefined ? '' : `, held by ${busy.holder}`;
    return new LockTimeoutError(`${formatKey(key)} is busy and ${waitMs} ms are over${holder}`, {
      key,
      waitedMs: waitMs,
      ...(busy.holder === undefined ? undefined : { holder: busy.holder }),
    });
  }
}

function place(frame: Frame): string {
  return frame.label ?? 'an outer section of the same flow';
}

function checkToken(token: unknown): string {
  if (typeof token === 'string' && token !== '') return token;
  throw optionError('token', 'a non-empty string', token);
}

function ownerOf(owner: unknown, instance: Instance): Owner {
  if (owner instanceof Owner && owner.instance === instance) return owner;
  if (owner instanceof CountedHandle && owner.host === instance) return ownerOfHandle(owner, instance);
  throw optionError('owner', 'an owner from klock.owner() or a handle of this instance', owner);
}

/** A handle acquired without owner gets one when first named as such. */
function ownerOfHandle({ hold }: CountedHandle, instance: Instance): Owner {
  if (hold.owner !== undefined) return hold.owner;
  const owner = new Owner(instance.random.id(), instance);
  owner.add(hold);
  return owner;
}

class HeldSection implements Section {
  private left: Promise<ReleaseOutcome> | undefined;

  constructor(
    private readonly instance: Instance,
    private readonly frame: Frame,
    readonly handle: CountedHandle,
  ) {
    handle.hold.enter(frame);
  }

  /** Whether `maxHoldMs` ends it although its work goes on. */
  get endsByItself(): boolean {
    return this.handle.hold.hasMaxHold;
  }

  get lost(): LockLostError | undefined {
    // Reading `held` performs a loss that is due, so that a late return is not taken for success.
    return this.left === undefined && this.handle.held ? undefined : this.handle.hold.loss;
  }

  run<T>(work: () => T): T {
    return runInFrame(this.frame, work);
  }

  leave(): Promise<ReleaseOutcome> {
    this.left ??= this.end();
    return this.left;
  }

  private async end(): Promise<ReleaseOutcome> {
    this.handle.hold.exit(this.frame);
    return await this.handle.leave(() => this.instance.leaveSection());
  }
}

/** Runs a section to its end: the work's own error passes through unchanged, a loss meanwhile rejects with the result attached. */
async function runSection<T>(section: HeldSection, work: () => PromiseLike<T> | T): Promise<T> {
  let result: T;
  try {
    result = await untilMaxHold(section, work);
  } catch (error) {
    await section.leave();
    throw error;
  }
  const { lost } = section;
  await section.leave();
  if (lost !== undefined) throw withResult(lost, result);
  return result;
}

/** `maxHoldMs` ends the call even if its work never settles; any other loss lets the work end first. */
async function untilMaxHold<T>(section: HeldSection, work: () => PromiseLike<T> | T): Promise<T> {
  const running = section.run(async () => await work());
  if (!section.endsByItself) return await running;
  const tooLong = new Promise<never>((_, reject) => {
    void section.handle.done.then((end) => {
      if (end.end === 'lost' && end.reason === 'max-hold') reject(section.lost ?? new Error('lost'));
    });
  });
  // Whichever loses the race may still reject later, and is nobody's any more.
  running.catch(() => undefined);
  tooLong.catch(() => undefined);
  return await Promise.race([running, tooLong]);
}

function withResult(lost: LockLostError, result: unknown): LockLostError {
  return new LockLostError(lost.message, {
    ...(lost.key && { key: lost.key }),
    ...(lost.fence !== undefined && { fence: lost.fence }),
    reason: lost.reason,
    lossCode: lost.lossCode,
    result,
  });
}

/** For adapters and tests: another clock or random source. */
export interface KlockEnvironment {
  readonly clock?: Clock;
  readonly random?: Random;
}

/** What this package's own instances offer adapters beyond {@link Klock}. */
export type KlockInstance = Klock &
  Sections & {
    readonly store: string;
    readonly driver: LockDriver;
    /** Leases whose last renewal failed. */
    readonly inJeopardy: number;
    view(prefix: string): KlockInstance;
  };

/**
 * Makes a Klock over a driver. The driver belongs to it from now on.
 * @throws InvalidOptionError for an option out of range, unknown, or in contradiction with another; nothing was contacted.
 */
export function createKlock(options: KlockOptions & KlockEnvironment): KlockInstance {
  const driver = (options as Partial<KlockOptions> | undefined)?.driver;
  if (typeof driver !== 'object' || driver === null || typeof driver.attach !== 'function') {
    throw new InvalidOptionError(
      `driver must be a lock driver, such as memoryDriver(), got ${quote(driver)}`,
      { option: 'driver', value: driver },
    );
  }
  const resolved = resolveOptions(options, driver.capabilities);
  const instance = new Instance(
    driver,
    resolved,
    options.clock ?? systemClock,
    options.random ?? systemRandom,
  );
  return new FrontEnd(instance, resolved.namespace === undefined ? '' : `${resolved.namespace}/`, false);
}
