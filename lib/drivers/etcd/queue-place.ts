import {
  BackendStateError,
  LockUnavailableError,
  abortedError,
  formatKey,
  onAbort,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type Timer,
} from '../../core/index.js';
import { MAX_RECHECK_MS } from './bounds.js';
import { StoreRefusal, Unanswered, storeError } from './call-failure.js';
import { hashToken, writeEntry, type Entry } from './entry.js';
import type { EtcdGrant, EtcdSession, SessionWaiter } from './etcd-session.js';
import { MAX_SPAN, fenceOf } from './fence.js';
import { findAhead } from './find-ahead.js';
import { METHODS } from './methods.js';
import { graceMs, type Store } from './store.js';
import { takeBack } from './take-back.js';
import type { Look, Seat } from './transactions.js';

type Outcome = DriverGrant | DriverBusy;

interface Settle {
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

/**
 * One acquire on its way through the store: takes the key or a place behind it, waits for the last entry in its way to
 * go, asks to be granted, and leaves nothing behind if it is not. Its outcome is decided once; whatever arrives later
 * is taken back.
 */
export class QueuePlace implements SessionWaiter {
  private readonly seat: Seat;
  private readonly token: string;
  private readonly tokenHash: string;
  private readonly queuedAtMs: number;
  private readonly startMs: number;
  private createRevision = 0n;
  private modRevision = 0n;
  /** Copies of the first transaction handed over, and whether one of them was answered. */
  private copies = 0;
  private answered = false;
  private leaseGone = false;
  private holder: string | undefined = undefined;
  private over = false;
  private settle: Settle | undefined = undefined;
  private deadline: Timer | undefined = undefined;
  private aborting: Disposable | undefined = undefined;
  private wakeUp: (() => void) | undefined = undefined;

  constructor(
    private readonly store: Store,
    private readonly request: DriverAcquire,
    private readonly session: EtcdSession,
    /** When the caller's wait began, by the monotonic clock. */
    startMs: number,
  ) {
    this.startMs = startMs;
    this.seat = store.transactions.seat(request.key, request.requestId, session.leaseId);
    this.token = `lk_${store.random.id()}`;
    this.tokenHash = hashToken(this.token);
    this.queuedAtMs = store.clock.wallMs();
  }

  /** @throws as LockDriver.acquire */
  run(): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      this.session.enter(this);
      this.aborting = onAbort(this.request.signal, (reason) =>
        this.give(() => this.settle?.reject(abortedError(this.request.key, reason))),
      );
      if (this.over) return;
      this.watchDeadline();
      void this.pursue().catch((error: unknown) => this.fail(error));
    });
  }

  /**
   * The store itself said that the lease was gone before the request came to anything: it may be made again under
   * another. Our own clock is not enough for that: a late copy could still be granted under the old one.
   */
  get isUnbegun(): boolean {
    return this.leaseGone && !this.answered;
  }

  sessionEnded(): void {
    this.give(() => this.settle?.reject(this.gone()));
  }

  private gone(): LockUnavailableError {
    return new LockUnavailableError(
      `the etcd lease of this client ended while ${formatKey(this.request.key)} was waited for`,
      { key: this.request.key, operation: 'acquire', storeCode: 'SESSION_GONE' },
    );
  }

  private async pursue(): Promise<void> {
    let look = await this.enqueue();
    while (look !== undefined && !this.over) {
      await this.untilWorthALook(look);
      if (!this.over) look = await this.ask();
    }
  }

  /** Undefined: it is over. */
  private async enqueue(): Promise<Look | undefined> {
    const { transactions, calls } = this.store;
    const waits = this.request.waitMs > 0;
    const { reply } = await calls.call(
      METHODS.txn,
      transactions.enqueue(this.seat, this.value('held'), waits ? this.value('waiting') : undefined),
      { budgetMs: this.budgetMs(), wanted: () => !this.over, sending: () => void this.copies++ },
    );
    this.answered = true;
    const result = transactions.readEnqueue(this.seat, { waits }, reply);
    if (result.outcome === 'granted') return this.granted(result.revision);
    this.holder = ownerOf(result.look.ahead) ?? this.holder;
    if (result.outcome === 'none') return this.busy(result.look, waits);
    this.createRevision = result.look.own?.createRevision ?? result.look.revision;
    this.modRevision = result.look.own?.modRevision ?? result.look.revision;
    return result.look;
  }

  /** Asks to be granted; tells who is in the way otherwise. Undefined: it is over. */
  private async ask(first = false): Promise<Look | undefined> {
    const { transactions, calls } = this.store;
    const request = transactions[first ? 'grantFirst' : 'grant'](
      this.seat,
      this.createRevision,
      this.modRevision,
      this.value('held'),
    );
    const { reply } = await calls.call(METHODS.txn, request, {
      budgetMs: this.budgetMs(),
      wanted: () => !this.over,
    });
    const result = transactions.readGrant(this.seat, this.createRevision, reply);
    if (result.outcome === 'granted') return this.granted(result.revision);
    if (result.outcome === 'gone') return await this.vanished();
    this.holder = ownerOf(result.look.ahead) ?? this.holder;
    return result.look;
  }

  /** Returns when the entry ahead is gone, or after a while in case that was not heard. */
  private async untilWorthALook(look: Look): Promise<void> {
    const ahead =
      look.ahead ?? (await findAhead(this.store, this.seat.key, this.createRevision, this.budgetMs()));
    if (this.over) return;
    if (ahead === undefined) return void (await this.askAsFirst());
    const { clock, random, watches } = this.store;
    const recheckMs = Math.min(MAX_RECHECK_MS, this.request.ttlMs / 2) * (0.75 + random.fraction() / 4);
    await new Promise<void>((resolve) => {
      const timer = clock.after(recheckMs, resolve);
      const watch = watches.watch(ahead.name, undefined, (news) => {
        if (news === 'watching') void this.checkAhead(ahead).then((gone) => gone && resolve());
        else resolve();
      });
      this.wakeUp = () => {
        timer.cancel();
        watch[Symbol.dispose]();
        resolve();
      };
      if (this.over) this.wakeUp();
    });
    this.wakeUp?.();
    this.wakeUp = undefined;
  }

  /** Whether the entry ahead went between the look that found it and the watch that would have told. */
  private async checkAhead({ name }: Entry): Promise<boolean> {
    try {
      const { reply } = await this.store.calls.call(
        METHODS.range,
        { key: name, keys_only: true },
        { budgetMs: this.budgetMs(), wanted: () => !this.over },
      );
      return reply.kvs.length === 0;
    } catch {
      // Cannot be told: the question for the grant will tell.
      return true;
    }
  }

  /** Only keys that are not klock's stand before the entry: the plain question would fail for ever. */
  private async askAsFirst(): Promise<void> {
    await this.ask(true);
  }

  private granted(revision: bigint): undefined {
    this.answered = true;
    const { session } = this;
    // Taken back already, or about to be: what takes it back comes later than this grant, or finds the guard.
    if (this.over) return undefined;
    // Checked again after the await: the lease may have ended while the answer was under way.
    if (!session.alive) return this.give(() => this.settle?.reject(this.gone()));
    const grant: EtcdGrant = {
      granted: true,
      requestId: this.request.requestId,
      key: this.request.key,
      token: this.token,
      fence: fenceOf(revision),
      span: Math.min(this.request.span ?? 1, MAX_SPAN),
      lease: session.lease,
      session,
      seat: this.seat,
      revision,
      queuedAtMs: this.queuedAtMs,
      grantedAtMs: this.store.clock.wallMs(),
      tokenHash: this.tokenHash,
      doubled: this.copies > 1,
      metadata: this.request.metadata,
    };
    this.end();
    session.add(grant);
    session.leave(this);
    this.settle?.resolve(grant);
    return undefined;
  }

  private busy(look: Look, waits: boolean): undefined {
    // Asked to wait, and yet no entry was made: a guard stands there, the request was taken back before.
    if (waits) return this.give(() => this.settle?.resolve({ granted: false, conflict: true }));
    this.holder = ownerOf(look.ahead);
    void this.refuse();
    return undefined;
  }

  /**
   * The entry is not there any more. With its lease went everything that rests on it; deleted by somebody it has cost no
   * more than its place, and the wait goes on under another id.
   */
  private async vanished(): Promise<undefined> {
    if (this.over) return undefined;
    const { reply } = await this.store.calls.call(
      METHODS.leaseTimeToLive,
      { ID: this.session.leaseId },
      { budgetMs: this.budgetMs(), wanted: () => !this.over },
    );
    if (reply.TTL < 0n) return this.give(() => this.settle?.reject(this.gone()));
    return this.give(() => this.settle?.resolve({ granted: false, conflict: true }));
  }

  private fail(error: unknown): undefined {
    if (this.over) return undefined;
    if (error instanceof StoreRefusal && error.kind === 'lease-gone') {
      // Said by the transaction itself: whatever rests on the lease is lost, this request first of all.
      this.leaseGone = true;
      this.store.sessions.gone(this.session);
      if (this.over) return undefined;
    }
    const { key } = this.request;
    const known = error instanceof BackendStateError ? error : undefined;
    const failure =
      known ?? storeError(error, `${formatKey(key)} was waited for`, { key, operation: 'acquire' });
    return this.give(() => this.settle?.reject(failure));
  }

  /** Decides the outcome, unless it is decided, and takes back what the store may have of the request. */
  private give(tell: () => void): undefined {
    if (this.over) return undefined;
    this.end();
    tell();
    return this.cleanUp();
  }

  private end(): void {
    this.over = true;
    this.deadline?.cancel();
    this.aborting?.[Symbol.dispose]();
    this.wakeUp?.();
  }

  /** Detached: nobody waits for it, and the session stays while it runs. */
  private cleanUp(): undefined {
    if (this.leavesTraces) void takeBack(this.store, this.session, this.seat, this.needsGuard);
    this.session.leave(this);
    return undefined;
  }

  /** Whether the store has, or may still get, an entry of this request: not where it was asked once and answered no. */
  private get leavesTraces(): boolean {
    return this.copies > 0 && (this.request.waitMs > 0 || this.needsGuard);
  }

  /** A copy may still be under way: more were sent than were answered. */
  private get needsGuard(): boolean {
    return this.copies > 1 || !this.answered;
  }

  private watchDeadline(): void {
    if (this.request.waitMs === Infinity || this.request.waitMs === 0) return;
    this.deadline = this.store.clock.after(this.waitLeftMs(), () => void this.refuse(), { keepAlive: true });
  }

  /** A definite no, but only once the store has confirmed that nothing is or can be left of the request. */
  private async refuse(): Promise<void> {
    if (this.over) return;
    const { answered, holder } = this;
    this.end();
    if (!this.leavesTraces) this.session.leave(this);
    const sure = !this.leavesTraces || (await this.takenBackInTime());
    if (sure && answered) {
      this.settle?.resolve({ granted: false, ...(holder === undefined ? undefined : { holder }) });
      return;
    }
    const { key } = this.request;
    const silence = new Unanswered(undefined);
    this.settle?.reject(
      storeError(silence, `${formatKey(key)} was waited for`, { key, operation: 'acquire' }),
    );
  }

  /** The clean-up goes on behind where it takes longer than the grace. */
  private async takenBackInTime(): Promise<boolean> {
    const { clock, calls } = this.store;
    const late = new Promise<false>((resolve) => {
      this.deadline = clock.after(graceMs(calls.timeoutMs), () => resolve(false), { keepAlive: true });
    });
    const cleaned = takeBack(this.store, this.session, this.seat, this.needsGuard);
    this.session.leave(this);
    const sure = await Promise.race([cleaned, late]);
    this.deadline?.cancel();
    return sure;
  }

  private waitLeftMs(): number {
    return Math.max(0, this.request.waitMs - (this.store.clock.monoMs() - this.startMs));
  }

  /** How long the store may take to answer: what is left of the wait, and a grace. */
  private budgetMs(): number {
    return Math.min(this.request.attemptMs, this.waitLeftMs()) + graceMs(this.store.calls.timeoutMs);
  }

  private value(state: 'waiting' | 'held'): Buffer {
    const { clientName } = this.store.host.settings;
    const { metadata } = this.request;
    return writeEntry({
      state,
      tokenHash: this.tokenHash,
      queuedAtMs: this.queuedAtMs,
      ...(state === 'waiting' ? undefined : { grantedAtMs: this.store.clock.wallMs() }),
      ...(clientName === undefined ? undefined : { client: clientName }),
      ...(metadata === undefined ? undefined : { metadata }),
    });
  }
}

/** Who stands in the way, as far as its entry tells. */
function ownerOf(entry: Entry | undefined): string | undefined {
  return entry?.client;
}
