import { Acquisition, type AcquiringCall } from './acquisition.js';
import { CountedHandle } from './counted-handle.js';
import { systemClock, type Clock } from './clock.js';
import { BackendStateError, ClosedError, InvalidOptionError, LockReentryError } from './errors.js';
import { currentFrame, judge, runOutsideFlow, type Frame } from './flow.js';
import { runSection, type HeldSection } from './held-section.js';
import { Candidacy, checkElection, type Election, type ElectionOptions } from './election.js';
import type { Hold } from './hold.js';
import { Instance } from './instance.js';
import type { Klock, Work } from './klock.js';
import type { Capabilities, LockDriver } from './lock-driver.js';
import type { LockEvent } from './lock-events.js';
import type { LockHandle, LockOwner } from './lock-handle.js';
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
import { checkRevoke, type RevokeOptions, type RevokeReport } from './revoke.js';
import { systemRandom, type Random } from './random.js';
import { plainAcquire, resolveAcquire, resolveOptions, type ResolvedAcquire } from './resolve.js';
import { SectionAcquisition } from './section-acquisition.js';
import { ENTER_SECTION, type Section, type SectionOptions, type Sections } from './section.js';

/** A Klock over one instance, with the prefix its keys get. */
class FrontEnd implements Klock, Sections {
  private readonly plain: ResolvedAcquire;
  /** Of options that cannot change: a decorator's are checked once, not at each call. */
  private readonly sectionTerms = new WeakMap<SectionOptions, ResolvedAcquire>();

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

  acquire(key: KeyInput, options?: AcquireOptions): Promise<LockHandle> {
    return this.take(key, options, 'acquire') as Promise<LockHandle>;
  }

  tryAcquire(key: KeyInput, options?: TryOptions): Promise<LockHandle | undefined> {
    return this.take(key, options, 'tryAcquire');
  }

  withLock<T>(key: KeyInput, work: Work<T>): Promise<T>;
  withLock<T>(key: KeyInput, options: AcquireOptions, work: Work<T>): Promise<T>;
  withLock<T>(key: KeyInput, optionsOrWork: AcquireOptions | Work<T>, maybeWork?: Work<T>): Promise<T> {
    const options = typeof optionsOrWork === 'function' ? undefined : optionsOrWork;
    const work = typeof optionsOrWork === 'function' ? optionsOrWork : maybeWork;
    try {
      if (typeof work !== 'function') throw optionError('work', 'a function', work);
      return runSection(this.enter(key, options, 'withLock'), work);
    } catch (error) {
      return rejected(error);
    }
  }

  [ENTER_SECTION](key: KeyInput, options?: SectionOptions): Section | Promise<Section> {
    try {
      return this.enter(key, options, 'section');
    } catch (error) {
      return rejected(error);
    }
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

  async revoke(key: KeyInput, options: RevokeOptions = {}): Promise<RevokeReport> {
    const full = this.full(parseKey(key));
    const asked = checkRevoke(full, options);
    const { driver, isClosing } = this.instance;
    if (isClosing) throw new ClosedError(`klock instance '${this.name}' is closed`, { operation: 'revoke' });
    if (driver.revoke !== undefined) return await driver.revoke(full, asked);
    throw new BackendStateError(`the ${driver.name} driver cannot revoke`, {
      key: full,
      operation: 'revoke',
      code: 'BACKEND_MISCONFIGURED',
    });
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
    return this.prefix === '' ? key : this.prefixed(key);
  }

  private prefixed(key: LockKey): LockKey {
    // Parsed again: the prefix counts towards the segment's bytes.
    return parseKey(key.length === 1 ? [this.prefix + key[0]] : [this.prefix + key[0], key[1]]);
  }

  private terms(call: AcquiringCall, options: SectionOptions | undefined): ResolvedAcquire {
    if (options === undefined) return this.plain;
    return call === 'section' ? this.termsOfSection(options) : this.resolved(call, options);
  }

  private termsOfSection(options: SectionOptions): ResolvedAcquire {
    const known = this.sectionTerms.get(options);
    if (known !== undefined) return known;
    const terms = this.resolved('section', options);
    if (Object.isFrozen(options) && options.metadata === undefined) this.sectionTerms.set(options, terms);
    return terms;
  }

  private resolved(call: AcquiringCall, options: SectionOptions): ResolvedAcquire {
    return resolveAcquire(this.instance.options, this.plain, this.capabilities, call, options);
  }

  private ask<A extends Acquisition>(
    Kind: new (...asked: ConstructorParameters<typeof Acquisition>) => A,
    input: KeyInput,
    options: SectionOptions | undefined,
    call: AcquiringCall,
  ): A {
    const terms = this.terms(call, options);
    const key = parseKey(input);
    const waitMs = call === 'tryAcquire' ? 0 : terms.waitMs;
    const { instance } = this;
    const ask = new Kind(call, key, this.full(key), terms, waitMs, instance.clock.now(), instance);
    ask.owner = this.ownerOf(terms);
    return ask;
  }

  /** Not an async function: whoever waits would wait a turn of promises longer. */
  private take(
    key: KeyInput,
    options: AcquireOptions | undefined,
    call: 'acquire' | 'tryAcquire',
  ): Promise<LockHandle | undefined> {
    try {
      const ask = this.ask(Acquisition, key, options, call);
      const handle: unknown = this.share(ask) ?? this.instance.acquirer.acquire(ask);
      return (handle instanceof Promise ? handle : Promise.resolve(handle)) as Promise<CountedHandle>;
    } catch (error) {
      return rejected(error);
    }
  }

  /** A handle on a grant that the owner or flow already has, decided now; undefined: an ordinary acquire. */
  private share(ask: Acquisition): CountedHandle | undefined {
    const holdsNothing = ask.owner === undefined && currentFrame() === undefined;
    return holdsNothing ? undefined : this.shareHeld(ask);
  }

  private shareHeld(ask: Acquisition): CountedHandle | undefined {
    const shared = this.reentered(ask.key, ask.terms, ask.owner);
    if (shared === undefined) return undefined;
    this.instance.figures?.reentered();
    return new CountedHandle(this.instance, shared, ask.askedKey);
  }

  private ownerOf(terms: ResolvedAcquire): Owner | undefined {
    return terms.owner === undefined ? undefined : ownerOf(terms.owner, this.instance);
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

  private enter(
    input: KeyInput,
    options: SectionOptions | undefined,
    call: AcquiringCall,
  ): HeldSection | Promise<HeldSection> {
    const { instance } = this;
    const ask = this.ask(SectionAcquisition, input, options, call);
    // A shared lock's frame is made in the turn of its verdict, or two branches would both be let in.
    const shared = this.share(ask);
    instance.enterSection();
    return shared === undefined ? instance.acquirer.acquire(ask) : ask.made(shared);
  }
}

/** What a call throws before it waits, its caller meets as a rejection. */
function rejected(error: unknown): Promise<never> {
  return new Promise(() => {
    throw error;
  });
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
