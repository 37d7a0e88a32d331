import type { DriverGrant, KeptLease } from '../../core/index.js';
import type { Seat } from './transactions.js';

/** A grant of this driver. */
export interface EtcdGrant extends DriverGrant {
  readonly session: EtcdSession;
  readonly seat: Seat;
  /** Mod revision of the entry, written by the transaction that granted: the fence is made of it. */
  readonly revision: bigint;
  readonly queuedAtMs: number;
  readonly grantedAtMs: number;
  readonly tokenHash: string;
  /** Its acquire was sent more than once, or a copy was not answered: its end needs a guard. */
  readonly doubled: boolean;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

/** Someone waiting under a session. */
export interface SessionWaiter {
  /** The session is over: nothing can be granted under it. */
  sessionEnded(): void;
}

/** One etcd lease and what rests on it. */
export class EtcdSession {
  readonly grants = new Set<EtcdGrant>();
  readonly waiters = new Set<SessionWaiter>();
  /** Calls under way that need the lease: releases, clean-ups. */
  private calls = 0;
  private ended = false;

  constructor(
    /** As it stands in `lease.id`. */
    readonly id: string,
    readonly leaseId: bigint,
    readonly lease: KeptLease,
    /** Serves every lock of the default ttl; false: one lock with a ttl of its own, and ends with it. */
    readonly shared: boolean,
    private readonly unused: (session: EtcdSession) => void,
  ) {}

  /** Read now: whether something may still be put on it. */
  get alive(): boolean {
    return !this.ended && this.lease.alive;
  }

  get used(): boolean {
    return this.calls > 0 || this.waiters.size > 0 || this.grants.size > 0;
  }

  enter(waiter: SessionWaiter): void {
    this.waiters.add(waiter);
  }

  leave(waiter: SessionWaiter): void {
    if (this.waiters.delete(waiter)) this.tellIfUnused();
  }

  add(grant: EtcdGrant): void {
    this.grants.add(grant);
  }

  drop(grant: EtcdGrant): void {
    if (this.grants.delete(grant)) this.tellIfUnused();
  }

  /** Keeps the session while `work` runs. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.calls++;
    try {
      return await work();
    } finally {
      this.calls--;
      this.tellIfUnused();
    }
  }

  /** Nothing rests on it any more; waiters hear of it in this call. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.grants.clear();
    for (const waiter of [...this.waiters]) waiter.sessionEnded();
    this.waiters.clear();
  }

  private tellIfUnused(): void {
    if (!this.ended && !this.used) this.unused(this);
  }
}
