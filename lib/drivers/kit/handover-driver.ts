import {
  AlarmQueue,
  abortedError,
  type Capabilities,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHealth,
  type DriverHost,
  type KeptLease,
  type LockDriver,
  type LockKey,
  type LockReport,
  type RenewReply,
} from '../../core/index.js';
import { LockTable } from '../../engine/index.js';
import { HandoverHost, type LocalGrants } from './handover-host.js';
import { LocalWaiter } from './local-waiter.js';
import { PassedGrant, SharedGrant } from './shared-grant.js';
import { StoreRequest } from './store-request.js';

/** Fences asked for at most: how often a grant may be passed on before waiters elsewhere get their turn (design D13). */
const MAX_SPAN = 32;

const BUSY: DriverBusy = { granted: false };

/**
 * Puts a table of this process in front of a store. Callers of one key queue here, only the first of them asks the store,
 * and a released grant goes to the next of them in the same turn while the store's terms allow it: under contention the
 * round trip for each hand-over is what limits a lock.
 *
 * The order is that of the engine's table, so a local L1 and the L2 below it wait for each other as they do in the store.
 */
export class HandoverDriver implements LockDriver, LocalGrants {
  private readonly table: LockTable<LocalWaiter>;
  /** Waiters whose turn came inside a call of the table. */
  private turned: LocalWaiter[] = [];
  private readonly shared = new Map<KeptLease, Set<SharedGrant>>();
  /** Waiters in local queues. */
  private readonly queued = new Set<LocalWaiter>();
  private attachedHost: DriverHost | undefined;
  private waits: AlarmQueue | undefined;

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

  acquire(request: DriverAcquire): DriverGrant | DriverBusy | Promise<DriverGrant | DriverBusy> {
    if (!this.host.settings.handover || !this.worthwhile()) return this.inner.acquire(request);
    if (request.signal?.aborted === true) throw abortedError(request.key, request.signal.reason);
    const waiter = new LocalWaiter(request, this.host.clock.monoMs() + request.waitMs, (gone) =>
      this.aborted(gone),
    );
    if (request.waitMs === 0) return this.tryNow(waiter);
    if (this.table.tryAcquire(waiter)) void this.askStore(waiter);
    else this.queue(waiter);
    return waiter.reply;
  }

  release(
    grant: DriverGrant,
    options?: { readonly keepMs?: number },
  ): DefiniteRelease | Promise<DefiniteRelease> {
    if (!(grant instanceof PassedGrant)) return this.inner.release(grant, options);
    const { shared } = grant;
    if (shared.current !== grant) return 'lost';
    const kept = (options?.keepMs ?? 0) > 0;
    this.table.release(shared.holder);
    const next = kept
      ? undefined
      : this.turned.find((waiter) => sameKey(waiter, shared.holder) && shared.mayPassTo(waiter));
    if (next === undefined) return this.giveBack(shared, options);
    this.turned.splice(this.turned.indexOf(next), 1);
    this.queued.delete(next);
    this.host.handedOver(grant.key);
    next.settle(shared.passTo(next));
    this.runTurns();
    return 'released';
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
      for (const waiter of [...this.queued]) if (this.table.withdraw(waiter)) waiter.abort(reason);
      this.queued.clear();
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
    return this.sharedOf(grant)?.current ?? grant;
  }

  grantOver(grant: DriverGrant): void {
    const shared = this.sharedOf(grant);
    if (shared === undefined) return;
    this.forget(shared);
    this.table.release(shared.holder);
    this.runTurns();
  }

  /** The lease ended with all its grants: their unused fences are void, and the next of this process ask the store. */
  leaseOver(lease: KeptLease): void {
    for (const shared of this.shared.get(lease) ?? []) this.table.release(shared.holder);
    this.shared.delete(lease);
    this.runTurns();
  }

  /** The keeper ends such a lease by itself when it reads the reply, which is before anyone else can be granted. */
  private freeIfGone(lease: KeptLease | undefined, reply: RenewReply): void {
    if (lease !== undefined && reply.outcome === 'gone') this.leaseOver(lease);
  }

  private get host(): DriverHost {
    return this.attachedHost as DriverHost;
  }

  /** Asks once: a sibling that holds or waits before it is an answer already. */
  private tryNow(waiter: LocalWaiter): DriverBusy | Promise<DriverGrant | DriverBusy> {
    waiter.stopWaiting();
    if (!this.table.tryAcquire(waiter)) return BUSY;
    void this.askStore(waiter);
    return waiter.reply;
  }

  private queue(waiter: LocalWaiter): void {
    this.table.enqueue(waiter);
    if (waiter.held) return this.runTurns();
    this.queued.add(waiter);
    this.watchWait(waiter);
  }

  private watchWait(waiter: LocalWaiter): void {
    if (waiter.waitUntilMs === Infinity) return;
    waiter.alarm = this.waits?.at(waiter.waitUntilMs, () => {
      if (!this.table.withdraw(waiter)) return;
      this.queued.delete(waiter);
      waiter.settle(BUSY);
      this.runTurns();
    });
  }

  private aborted(waiter: LocalWaiter): void {
    if (!this.table.withdraw(waiter)) return;
    this.queued.delete(waiter);
    waiter.abort(waiter.request.signal?.reason);
    this.runTurns();
  }

  /** Whoever's turn has come speaks with the store. */
  private runTurns(): void {
    const turned = this.turned;
    this.turned = [];
    for (const waiter of turned) void this.askStore(waiter);
  }

  /** The head of a local queue asks the store, with a span for those behind it. Never rejects. */
  private async askStore(waiter: LocalWaiter): Promise<void> {
    waiter.stopWaiting();
    this.queued.delete(waiter);
    const { clock } = this.host;
    const leftMs =
      waiter.waitUntilMs === Infinity
        ? Infinity
        : Math.max(0, Math.ceil(waiter.waitUntilMs - clock.monoMs()));
    const span = Math.min(this.table.waitersFor(waiter) + 1, MAX_SPAN);
    try {
      const reply = await this.inner.acquire(new StoreRequest(waiter.request, leftMs, span));
      if (reply.granted) waiter.settle(this.share(reply, waiter));
      else this.refused(waiter, () => waiter.settle(reply));
    } catch (error) {
      this.refused(waiter, () => waiter.fail(error));
    }
  }

  private refused(waiter: LocalWaiter, tell: () => void): void {
    this.table.release(waiter);
    tell();
    this.runTurns();
  }

  private share(base: DriverGrant, holder: LocalWaiter): PassedGrant {
    const shared = new SharedGrant(base, holder, this.host.clock, this.host.clock.monoMs());
    const ofLease = this.shared.get(base.lease) ?? new Set();
    this.shared.set(base.lease, ofLease.add(shared));
    return shared.current;
  }

  private forget(shared: SharedGrant): void {
    const ofLease = this.shared.get(shared.base.lease);
    ofLease?.delete(shared);
    if (ofLease?.size === 0) this.shared.delete(shared.base.lease);
  }

  /** The release goes first, then the next of this process asks: in this order in one frame, where the driver batches. */
  private giveBack(
    shared: SharedGrant,
    options: { readonly keepMs?: number } | undefined,
  ): DefiniteRelease | Promise<DefiniteRelease> {
    this.forget(shared);
    const outcome = this.inner.release(shared.base, options);
    this.runTurns();
    return outcome;
  }

  private sharedOf(base: DriverGrant): SharedGrant | undefined {
    for (const shared of this.shared.get(base.lease) ?? []) if (shared.base === base) return shared;
    return undefined;
  }
}

function sameKey(a: LocalWaiter, b: LocalWaiter): boolean {
  return a.l1 === b.l1 && a.l2 === b.l2;
}
