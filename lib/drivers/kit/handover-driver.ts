import {
  AlarmQueue,
  LATER,
  LinkedList,
  abortedError,
  type Capabilities,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHealth,
  type DriverHost,
  type Instant,
  type KeptLease,
  type Later,
  type LockDriver,
  type LockKey,
  type LockReport,
  type ReleaseReader,
  type RenewReply,
} from '../../core/index.js';
import { LockTable } from '../../engine/index.js';
import { HandoverHost, type LocalGrants } from './handover-host.js';
import { LocalWaiter, type Reply } from './local-waiter.js';
import { PassedGrant, SharedGrant } from './shared-grant.js';
import { SharedGrants } from './shared-grants.js';
import { StoreRequest, type StoreReader } from './store-request.js';

const BUSY: DriverBusy = { granted: false };

/**
 * Puts a table of this process in front of a store. Callers of one key queue here, only the first of them asks the store,
 * and a released grant goes to the next of them in the same turn while the store's terms allow it: under contention the
 * round trip for each hand-over is what limits a lock.
 *
 * The order is that of the engine's table, so a local L1 and the L2 below it wait for each other as they do in the store.
 */
export class HandoverDriver implements LockDriver, LocalGrants, StoreReader {
  private readonly table: LockTable<LocalWaiter>;
  /** Waiters whose turn came inside a call of the table. */
  private turned: LocalWaiter[] = [];
  private readonly shared = new SharedGrants();
  /** Waiters in local queues. */
  private readonly queued = new LinkedList<LocalWaiter>();
  private attachedHost: DriverHost | undefined = undefined;
  private waits: AlarmQueue | undefined = undefined;

  /** @param worthwhile asked at each acquire: false goes straight to the store. */
  constructor(
    private readonly inner: LockDriver,
    private readonly worthwhile: () => boolean = () => true,
  ) {
    this.table = new LockTable((waiter) => this.turned.push(waiter));
  }

  get name(): string {
    return this.inner.name;
  }

  get store(): string {
    return this.inner.store;
  }

  get capabilities(): Capabilities {
    return this.inner.capabilities;
  }

  /** For tests and reports: holders and waiters of this process. */
  get size(): number {
    return this.table.held + this.table.waiting;
  }

  attach(host: DriverHost): void {
    this.attachedHost = host;
    this.waits = new AlarmQueue(host.clock);
    if (!host.settings.handover) this.inner.attach(host);
    else this.inner.attach(new HandoverHost(host, this));
  }

  acquire(request: DriverAcquire): Reply | Promise<Reply> | Later {
    if (!this.host.settings.handover || !this.worthwhile()) return this.inner.acquire(request);
    if (request.signal?.aborted === true) throw abortedError(request.key, request.signal.reason);
    const waiter = new LocalWaiter(request);
    // Nobody of this process stands before it.
    if (this.table.tryAcquire(waiter)) return this.ask(waiter, request.waitMs);
    // A sibling that holds or waits before it is an answer already.
    return request.waitMs === 0 ? BUSY : this.queue(waiter);
  }

  release(
    grant: DriverGrant,
    options?: { readonly keepMs?: number },
    now = this.host.clock.now(),
    reader?: ReleaseReader,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later {
    if (!(grant instanceof PassedGrant)) return this.inner.release(grant, options, now, reader);
    const { shared } = grant;
    if (shared.current !== grant) return 'lost';
    const kept = (options?.keepMs ?? 0) > 0;
    this.table.release(shared.holder);
    const next = kept ? undefined : this.takeNext(shared, now);
    if (next === undefined) return this.giveBack(shared, options, now, reader);
    this.queued.delete(next);
    this.host.handedOver(grant.key);
    next.stopWaiting();
    const passed = shared.passTo(next);
    // The release is told before the grant that follows from it.
    queueMicrotask(() => next.settle(passed));
    this.runTurns();
    return 'released';
  }

  /** Whose turn has come and who may hold what the one before held, without the store being asked. */
  private takeNext(shared: SharedGrant, now: Instant): LocalWaiter | undefined {
    // Mostly nobody: no search is made for that.
    if (this.turned.length === 0) return undefined;
    const at = this.turned.findIndex((waiter) => sameKey(waiter, shared.holder));
    const next = this.turned[at];
    if (next === undefined || !shared.mayPassTo(next, now)) return undefined;
    this.turned.splice(at, 1);
    return next;
  }

  ready(timeoutMs: number): Promise<void> {
    return this.inner.ready(timeoutMs);
  }

  health(): Promise<DriverHealth> {
    return this.inner.health();
  }

  async renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    const replies = await this.inner.renew(leases, timeoutMs);
    replies.forEach((reply, at) => this.freeIfGone(leases[at], reply));
    return replies;
  }

  get extend(): LockDriver['extend'] {
    const { inner } = this;
    if (inner.extend === undefined) return undefined;
    return async (grant, ttlMs, timeoutMs) => {
      const base = grant instanceof PassedGrant ? grant.shared.base : grant;
      const reply = await (inner.extend as NonNullable<LockDriver['extend']>)(base, ttlMs, timeoutMs);
      this.freeIfGone(base.lease, reply);
      return reply;
    };
  }

  get abortWaits(): LockDriver['abortWaits'] {
    const { inner } = this;
    if (inner.abortWaits === undefined) return undefined;
    return (reason) => {
      for (const waiter of [...this.queued]) if (this.withdraw(waiter)) waiter.abort(reason);
      inner.abortWaits?.(reason);
      this.runTurns();
    };
  }

  abandon(lease: KeptLease, code: string): void {
    this.inner.abandon(lease, code);
    this.leaseOver(lease);
  }

  inspect(key: LockKey): Promise<LockReport> {
    return this.inner.inspect(key);
  }

  get revoke(): LockDriver['revoke'] {
    return this.inner.revoke?.bind(this.inner);
  }

  get holders(): LockDriver['holders'] {
    return this.inner.holders?.bind(this.inner);
  }

  releaseToken(key: LockKey, token: string): Promise<void> {
    return this.inner.releaseToken(key, token);
  }

  extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    return this.inner.extendToken(key, token, ttlMs);
  }

  async close(timeoutMs: number): Promise<boolean> {
    const told = await this.inner.close(timeoutMs);
    this.waits?.clear();
    return told;
  }

  asHeld(grant: DriverGrant): DriverGrant {
    return this.shared.of(grant)?.current ?? grant;
  }

  grantOver(grant: DriverGrant): void {
    const shared = this.shared.of(grant);
    if (shared === undefined) return;
    this.shared.delete(shared);
    this.table.release(shared.holder);
    this.runTurns();
  }

  /** The lease ended with all its grants: their unused fences are void, and the next of this process ask the store. */
  leaseOver(lease: KeptLease): void {
    for (const shared of this.shared.takeAll(lease)) this.table.release(shared.holder);
    this.runTurns();
  }

  /** The keeper ends such a lease by itself when it reads the reply, which is before anyone else can be granted. */
  private freeIfGone(lease: KeptLease | undefined, reply: RenewReply): void {
    if (lease !== undefined && reply.outcome === 'gone') this.leaseOver(lease);
  }

  private get host(): DriverHost {
    return this.attachedHost as DriverHost;
  }

  private queue(waiter: LocalWaiter): Promise<Reply> | Later {
    waiter.waitUntilMs = this.host.clock.monoMs() + waiter.request.waitMs;
    const reply = waiter.later();
    waiter.watchSignal(this.aborted);
    this.table.enqueue(waiter);
    if (waiter.held) this.runTurns();
    else {
      this.queued.add(waiter);
      this.watchWait(waiter);
    }
    return reply;
  }

  private watchWait(waiter: LocalWaiter): void {
    if (waiter.waitUntilMs === Infinity) return;
    waiter.alarm = this.waits?.at(waiter.waitUntilMs, () => {
      if (!this.withdraw(waiter)) return;
      waiter.settle(BUSY);
      this.runTurns();
    });
  }

  private readonly aborted = (waiter: LocalWaiter): void => {
    if (!this.withdraw(waiter)) return;
    waiter.abort(waiter.request.signal?.reason);
    this.runTurns();
  };

  private withdraw(waiter: LocalWaiter): boolean {
    this.queued.delete(waiter);
    return this.table.withdraw(waiter);
  }

  /** Whoever's turn has come speaks with the store. */
  private runTurns(): void {
    if (this.turned.length === 0) return;
    const turned = this.turned;
    this.turned = [];
    for (const waiter of turned) this.turn(waiter);
  }

  /** The new head of a local queue asks the store. */
  private turn(waiter: LocalWaiter): void {
    this.queued.delete(waiter);
    waiter.stopWaiting();
    const leftMs = Math.max(0, Math.ceil(waiter.waitUntilMs - this.host.clock.monoMs()));
    try {
      const reply = this.askStore(waiter, leftMs, undefined);
      if (reply === LATER) return;
      const answer = this.answered(waiter, reply, 'later');
      // A turn comes inside somebody else's release, which is told first.
      queueMicrotask(() => waiter.settle(answer));
    } catch (error) {
      this.free(waiter);
      queueMicrotask(() => waiter.fail(error));
    }
  }

  private ask(waiter: LocalWaiter, waitMs: number): Reply | Promise<Reply> | Later {
    try {
      const reply = this.askStore(waiter, waitMs, waiter.request.askedAt);
      return reply === LATER ? waiter.later() : this.answered(waiter, reply);
    } catch (error) {
      this.free(waiter);
      throw error;
    }
  }

  /** The store's answer, or that it tells the waiter later, however it does that. */
  private askStore(waiter: LocalWaiter, waitMs: number, askedAt: Instant | undefined): Reply | Later {
    const request = new StoreRequest(waiter, waitMs, askedAt, this.table, this);
    const reply = this.inner.acquire(request);
    if (reply === LATER || !('then' in reply)) return reply;
    reply.then(
      // Read later than it was decided: by clocks that are read anew.
      (later) => this.told(waiter, later, this.host.clock.now()),
      (error: unknown) => request.fail(error),
    );
    return LATER;
  }

  told(waiter: LocalWaiter, reply: Reply, now?: Instant): void {
    waiter.settle(this.answered(waiter, reply, 'now', now));
  }

  refused(waiter: LocalWaiter, error: unknown): void {
    this.free(waiter);
    waiter.fail(error);
  }

  /**
   * @param told when its caller reads it: in this turn, or later and by other readings of the clocks.
   * @param now where it is not the turn in which the driver read the answer.
   */
  private answered(waiter: LocalWaiter, reply: Reply, told: 'now' | 'later' = 'now', now?: Instant): Reply {
    if (reply.granted) {
      const shared = new SharedGrant(reply, waiter, now ?? reply.decidedAt ?? this.host.clock.now());
      return this.shared.add(shared).firstFor(told);
    }
    this.free(waiter);
    return reply;
  }

  /** The store said no to it, or nothing: the next of this process asks. */
  private free(waiter: LocalWaiter): void {
    this.table.release(waiter);
    this.runTurns();
  }

  /** The release goes first, then the next of this process asks: in this order in one frame, where the driver batches. */
  private giveBack(
    shared: SharedGrant,
    options: { readonly keepMs?: number } | undefined,
    now: Instant,
    reader: ReleaseReader | undefined,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later {
    this.shared.delete(shared);
    const outcome = this.inner.release(shared.base, options, now, reader);
    this.runTurns();
    return outcome;
  }
}

function sameKey(a: LocalWaiter, b: LocalWaiter): boolean {
  return a.l1 === b.l1 && a.l2 === b.l2;
}
