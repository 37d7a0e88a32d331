import {
  isSameKey,
  type Clock,
  type DriverHost,
  type KeptLease,
  type LockKey,
  type Timer,
} from '../../core/index.js';
import { IDLE_SESSION_MS } from './bounds.js';
import { Unanswered } from './call-failure.js';
import { leaseName } from './entry.js';
import { EtcdSession, type EtcdGrant } from './etcd-session.js';
import { METHODS } from './methods.js';
import type { StoreCalls } from './store-calls.js';

/** Opens, finds and ends the sessions of one driver: one shared by all locks of the default ttl, one for each other lock. */
export class SessionBook {
  private readonly sessions = new Map<string, EtcdSession>();
  private opening: Promise<EtcdSession> | undefined = undefined;
  private idle: Timer | undefined = undefined;
  private idleSinceMs = 0;
  private current: EtcdSession | undefined = undefined;
  private readonly clock: Clock;

  constructor(
    private readonly host: DriverHost,
    private readonly calls: StoreCalls,
    /** How long opening one may take; not the patience of the caller who happens to ask first. */
    private readonly openMs: number,
  ) {
    this.clock = host.clock;
  }

  /** @throws StoreRefusal, Unanswered */
  async find(ttlMs: number): Promise<EtcdSession> {
    if (ttlMs !== this.host.settings.ttlMs) return await this.open(ttlMs, false);
    if (this.current?.alive === true) return this.current;
    // The old one is dead by its own deadline: a new one serves whoever comes now.
    this.opening ??= this.open(ttlMs, true).finally(() => (this.opening = undefined));
    return await this.opening;
  }

  of(lease: KeptLease): EtcdSession | undefined {
    return this.sessions.get(lease.id);
  }

  byLeaseId(leaseId: bigint): EtcdSession | undefined {
    return this.sessions.get(leaseName(leaseId));
  }

  /** The grant of this client that `token` proves. */
  grantBy(key: LockKey, token: string): EtcdGrant | undefined {
    for (const { grants } of this.sessions.values())
      for (const grant of grants) if (grant.token === token && isSameKey(grant.key, key)) return grant;
    return undefined;
  }

  /** The store has ended it: everything on it is lost in this call. */
  gone(session: EtcdSession): void {
    this.forget(session);
    this.host.endLease(session.lease, 'session-gone', 'SESSION_GONE');
    session.end();
  }

  /** Ends it by our own decision and tells the store, within the time its lease can have left. */
  async close(session: EtcdSession, budgetMs = session.lease.ms): Promise<boolean> {
    this.forget(session);
    session.lease.close();
    session.end();
    return await this.revoke(session.leaseId, budgetMs);
  }

  async closeAll(budgetMs: number): Promise<boolean> {
    const told = await Promise.all([...this.sessions.values()].map((each) => this.close(each, budgetMs)));
    return told.every(Boolean);
  }

  /** True if the store has ended the lease, or knew nothing of it. */
  async revoke(leaseId: bigint, budgetMs: number): Promise<boolean> {
    try {
      await this.calls.call(METHODS.leaseRevoke, { ID: leaseId }, { budgetMs });
      return true;
    } catch (error) {
      return !(error instanceof Unanswered);
    }
  }

  private async open(ttlMs: number, shared: boolean): Promise<EtcdSession> {
    const { reply, sentAt } = await this.calls.call(
      METHODS.leaseGrant,
      { TTL: BigInt(ttlMs / 1_000) },
      { budgetMs: this.openMs },
    );
    const id = leaseName(reply.ID);
    const grantedMs = Number(reply.TTL) * 1_000;
    const lease = this.host.openLease({ id, askedMs: ttlMs, grantedMs, sentAt });
    const session = new EtcdSession(id, reply.ID, lease, shared, (unused) => this.rest(unused));
    this.sessions.set(id, session);
    if (shared) this.current = session;
    return session;
  }

  private forget(session: EtcdSession): void {
    this.sessions.delete(session.id);
    if (this.current === session) this.current = undefined;
  }

  private rest(session: EtcdSession): void {
    if (!session.shared || session !== this.current) {
      void this.close(session);
      return;
    }
    this.idleSinceMs = this.clock.monoMs();
    // Set once and looked at when it rings: a timer for each short lock would cost more than it saves.
    this.idle ??= this.clock.after(IDLE_SESSION_MS, () => this.lookIdle());
  }

  private lookIdle(): void {
    this.idle = undefined;
    const session = this.current;
    if (session === undefined || session.used) return;
    const leftMs = this.idleSinceMs + IDLE_SESSION_MS - this.clock.monoMs();
    if (leftMs <= 0) void this.close(session);
    else this.idle = this.clock.after(leftMs, () => this.lookIdle());
  }
}
