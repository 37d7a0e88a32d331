import type { Clock, Instant } from './clock.js';
import { msUntil, shift } from './clock.js';
import type { LossReason } from './errors.js';
import type { Alarm } from './alarm-queue.js';
import { LinkedList, type Linked } from './linked-list.js';
import type { KeptLease, LeaseTerms, ServerChange } from './lock-driver.js';
import { deadlineOf } from './validity.js';

/** How a lease, or one hold on it, was lost. */
export interface Loss extends ServerChange {
  readonly reason: LossReason;
  readonly code: string;
}

/** A grant resting on a lease, as the lease sees it. */
export interface LeaseTenant extends Linked<LeaseTenant> {
  /** Ends the grant as lost, once; called with the lease already dead. */
  lose(loss: Loss, releaseToo: boolean): void;
}

/**
 * Grants of one lease that asked for the same ttl, and so share a deadline: one alarm serves them all,
 * and a renewal costs nothing per lock held.
 */
export class Cohort {
  readonly tenants = new LinkedList<LeaseTenant>();
  alarm: Alarm | undefined = undefined;

  constructor(
    readonly lease: Lease,
    readonly ttlMs: number,
    private readonly marginMs: number,
  ) {}

  /** Moves with every renewal of the lease. */
  get deadline(): Instant {
    return shift(this.lease.sentAt, this.usableMs);
  }

  /** Whether the deadline is past, without making one: this is asked on every read of `held`. */
  isPast(now: Instant): boolean {
    const { sentAt } = this.lease;
    const { usableMs } = this;
    return now.monoMs - sentAt.monoMs >= usableMs || now.wallMs - sentAt.wallMs >= usableMs;
  }

  private get usableMs(): number {
    return Math.min(this.ttlMs, this.lease.ms) - this.marginMs;
  }
}

const NO_COHORTS: readonly Cohort[] = [];

/** What the keeper knows of one lease. It decides nothing; {@link LeaseKeeper} does. */
export class Lease implements KeptLease, Linked<Lease> {
  list: LinkedList<Lease> | undefined = undefined;
  before: Lease | undefined = undefined;
  after: Lease | undefined = undefined;
  /** One for each length asked for: few, mostly one. */
  cohorts: readonly Cohort[] = NO_COHORTS;
  askedMs: number;
  readonly renewed: boolean;
  /** As asked for; a length of its own where none was. */
  private readonly ownRenewEveryMs: number | undefined;
  /** When the last request was sent whose reply opened or renewed the lease. */
  sentAt: Instant;
  ms: number;
  /** Length the margin is taken of. */
  fullMs: number;
  private marginMs: number;
  state: 'alive' | 'closed' | 'ended' = 'alive';
  loss: Loss | undefined = undefined;
  /** Renewals failed in a row, and the last reason. */
  failures = 0;
  lastFailure: unknown;
  renewing = false;
  /** Renewals asked for by hand and extensions that are unanswered. */
  extending = 0;
  /** When the next renewal is due, on the monotonic clock; Infinity while one is under way, and where nobody renews. */
  renewAtMs = Infinity;
  /** For whatever comes first. */
  alarm: Alarm | undefined = undefined;

  constructor(
    readonly id: string,
    terms: LeaseTerms,
    private readonly clock: Clock,
    private readonly marginOf: (leaseMs: number) => number,
    private readonly onClose: (lease: Lease) => void,
  ) {
    this.askedMs = terms.askedMs;
    this.ms = Math.min(terms.askedMs, terms.grantedMs);
    this.fullMs = terms.fullMs ?? this.ms;
    this.marginMs = marginOf(this.fullMs);
    this.sentAt = terms.sentAt;
    this.renewed = terms.renewed ?? true;
    this.ownRenewEveryMs = terms.renewEveryMs;
  }

  get deadline(): Instant {
    return deadlineOf(this.sentAt, this.ms, this.marginMs);
  }

  get alive(): boolean {
    return this.aliveAt(this.clock.now());
  }

  aliveAt(now: Instant): boolean {
    if (this.state !== 'alive') return false;
    const usableMs = this.ms - this.marginMs;
    return now.monoMs - this.sentAt.monoMs < usableMs && now.wallMs - this.sentAt.wallMs < usableMs;
  }

  get busy(): boolean {
    return this.renewing || this.extending > 0;
  }

  get grants(): number {
    let count = 0;
    for (const cohort of this.cohorts) count += cohort.tenants.size;
    return count;
  }

  /** A copy: losing a tenant takes it away. */
  tenants(): LeaseTenant[] {
    return this.cohorts.flatMap((cohort) => [...cohort.tenants]);
  }

  /** Every third of the length it has now: extend may have shortened it, and the old pace would come too late. */
  get renewEveryMs(): number {
    const thirdMs = Math.max(1, Math.floor(this.fullMs / 3));
    const { ownRenewEveryMs } = this;
    if (ownRenewEveryMs === undefined) return thirdMs;
    return ownRenewEveryMs < this.fullMs - this.marginMs ? ownRenewEveryMs : thirdMs;
  }

  get leftMs(): number {
    return Math.max(0, msUntil(this.deadline, this.clock.now()));
  }

  /** The cohort for grants that asked for `ttlMs`; longer ones get the lease's own length. */
  cohort(ttlMs: number): Cohort {
    const length = Math.min(ttlMs, this.ms);
    return this.cohorts.find((cohort) => cohort.ttlMs === length) ?? this.newCohort(length);
  }

  private newCohort(length: number): Cohort {
    const cohort = new Cohort(this, length, length === this.ms ? this.marginMs : this.marginOf(length));
    // Not pushed: an array that grows keeps room for sixteen more, and nearly every lease has one.
    this.cohorts = this.cohorts.concat(cohort);
    return cohort;
  }

  /** Counts from another request with another length. */
  restart(sentAt: Instant, ms: number): void {
    this.sentAt = sentAt;
    this.ms = ms;
    this.fullMs = ms;
    this.marginMs = this.marginOf(ms);
  }

  close(): void {
    if (this.state !== 'alive') return;
    this.state = 'closed';
    this.onClose(this);
  }
}
