import { AlarmQueue, type Alarm } from './alarm-queue.js';
import { msUntil, type Clock } from './clock.js';
import type { LossReason } from './errors.js';
import { Lease, type Cohort, type LeaseTenant, type Loss } from './lease.js';
import { LinkedList } from './linked-list.js';
import type { KeptLease, LeaseTerms, RenewReply, ServerChange } from './lock-driver.js';
import { LOSS_CODES } from './loss-codes.js';
import { deadlineOf, isPast } from './validity.js';

/** Shortest pause before a failed renewal is tried again. */
const MIN_RETRY_MS = 10;
/** Longest pause: a store that is back must be met within a second, whatever the lease (case B-028). */
const MAX_RETRY_MS = 1_000;
/** Alarms wait for the monotonic clock, which stands still while the machine sleeps; a look this often bounds how late that is noticed. */
const MAX_ALARM_MS = 5_000;

/** What the keeper asks of the instance. */
export interface LeaseHost {
  readonly clock: Clock;
  marginOf(leaseMs: number): number;
  readonly renewTimeoutMs: number | undefined;
  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]>;
  /** The lease is lost by the client's own decision: the driver must drop it. */
  abandoned(lease: Lease, loss: Loss): void;
  jeopardy(lease: Lease, cause: unknown): void;
  renewedLease(lease: Lease, tookMs: number): void;
}

/**
 * The only place that renews leases, measures jeopardy and declares loss, for all drivers.
 * Validity itself is never kept here: it is a comparison of deadlines made when someone asks (design D2).
 */
export class LeaseKeeper {
  private readonly alarms: AlarmQueue;
  private readonly leases = new LinkedList<Lease>();
  /** Leases due in this turn: renewed together, one call. */
  private due: Lease[] = [];
  private readonly marginOf = (leaseMs: number): number => this.host.marginOf(leaseMs);
  private readonly forget = (lease: Lease): void => {
    this.leases.delete(lease);
    lease.alarm?.cancel();
    for (const cohort of lease.cohorts) cohort.alarm?.cancel();
  };

  constructor(private readonly host: LeaseHost) {
    this.alarms = new AlarmQueue(host.clock);
  }

  /** Leases under care. */
  get size(): number {
    return this.leases.size;
  }

  /** Every grant that rests on a lease under care. */
  tenants(): LeaseTenant[] {
    return [...this.leases].flatMap((lease) => lease.tenants());
  }

  /** Leases whose last renewal failed. */
  get inJeopardy(): number {
    let count = 0;
    for (const lease of this.leases) if (lease.failures > 0) count++;
    return count;
  }

  open(terms: LeaseTerms): Lease {
    const lease = new Lease(terms.id, terms, this.host.clock, this.marginOf, this.forget);
    this.leases.add(lease);
    if (lease.renewed) lease.renewAtMs = lease.sentAt.monoMs + lease.renewEveryMs;
    this.watch(lease);
    return lease;
  }

  /** Puts a grant on a lease; it is lost with it, or at the deadline of its own shorter ttl. */
  settle(lease: Lease, ttlMs: number, tenant: LeaseTenant): Cohort {
    const cohort = lease.cohort(ttlMs);
    cohort.tenants.add(tenant);
    if (cohort.ttlMs < lease.ms && cohort.alarm === undefined) this.watchCohort(cohort);
    return cohort;
  }

  /** Runs `run` at an instant of the monotonic clock, behind the one timer. */
  at(monoMs: number, run: () => void): Alarm {
    return this.alarms.at(monoMs, run);
  }

  /** The lease is over: every grant on it is lost in this call. */
  end(lease: Lease, reason: LossReason, code: string = LOSS_CODES[reason], change?: ServerChange): void {
    if (lease.state !== 'alive') return;
    lease.state = 'ended';
    lease.loss = { reason, code, ...change };
    this.forget(lease);
    for (const cohort of [...lease.cohorts]) this.loseAll(cohort, lease.loss, false);
  }

  /** Ends the lease if its deadline has passed; true if it did, or the lease is over anyway. */
  expireIfPast(lease: Lease): boolean {
    if (lease.state !== 'alive') return true;
    if (!isPast(lease.deadline, this.host.clock.now())) return false;
    const reason: LossReason = lease.failures > 0 ? 'unreachable' : 'expired';
    this.end(lease, reason);
    this.host.abandoned(lease, { reason, code: LOSS_CODES[reason] });
    return true;
  }

  /** Loses the grants of one cohort whose own, shorter deadline has passed. */
  expireCohortIfPast(cohort: Cohort): void {
    if (this.expireIfPast(cohort.lease)) return;
    if (!isPast(cohort.deadline, this.host.clock.now())) return;
    const reason: LossReason = cohort.lease.failures > 0 ? 'unreachable' : 'expired';
    this.loseAll(cohort, { reason, code: LOSS_CODES[reason] }, true);
  }

  /** Renews now instead of at the next turn; resolves with the store's answer for this lease. */
  async renewNow(lease: Lease, timeoutMs: number): Promise<RenewReply> {
    const sentAt = this.host.clock.now();
    lease.extending++;
    const [reply] = await this.ask([lease], timeoutMs);
    lease.extending--;
    const answer = reply ?? unanswered();
    this.read(lease, sentAt, answer);
    return answer;
  }

  /**
   * Gives a lease of its own another length. From the moment a shortening is sent the deadline counts the new length,
   * whatever the reply; a lengthening counts once it is answered.
   */
  async extend(lease: Lease, wantedMs: number, call: () => Promise<RenewReply>): Promise<RenewReply> {
    const sentAt = this.host.clock.now();
    const shortened = deadlineOf(sentAt, wantedMs, this.host.marginOf(wantedMs));
    if (msUntil(shortened, sentAt) < msUntil(lease.deadline, sentAt)) lease.restart(sentAt, wantedMs);
    lease.extending++;
    const reply = await call().catch((cause: unknown): RenewReply => ({ outcome: 'failed', cause }));
    lease.extending--;
    if (reply.outcome === 'renewed') lease.askedMs = wantedMs;
    this.read(lease, sentAt, reply);
    return reply;
  }

  /** Stops all timers; leases are left as they are. */
  stop(): void {
    this.alarms.clear();
    this.leases.takeAll();
  }

  private loseAll(cohort: Cohort, loss: Loss, releaseToo: boolean): void {
    for (const tenant of cohort.tenants.takeAll()) tenant.lose(loss, releaseToo);
  }

  /** One alarm for both, the renewal and the deadline: a store with a lease per grant has one for each lock. */
  private watch(lease: Lease): void {
    const endMs = this.soon(msUntil(lease.deadline, this.host.clock.now()));
    lease.alarm = this.alarms.at(Math.min(endMs, lease.renewAtMs), () => this.look(lease));
  }

  private look(lease: Lease): void {
    // After a blocked event loop the deadline comes first: no burst of renewals for what is already lost (case B-014).
    if (this.expireIfPast(lease)) return;
    if (lease.renewAtMs <= this.host.clock.monoMs()) this.renewalDue(lease);
    this.watch(lease);
  }

  private watchCohort(cohort: Cohort): void {
    cohort.alarm = this.alarms.at(this.soon(msUntil(cohort.deadline, this.host.clock.now())), () => {
      cohort.alarm = undefined;
      this.expireCohortIfPast(cohort);
      if (cohort.lease.state === 'alive' && cohort.tenants.size > 0) this.watchCohort(cohort);
    });
  }

  private soon(delayMs: number): number {
    return this.host.clock.monoMs() + Math.min(Math.max(0, delayMs), MAX_ALARM_MS);
  }

  private scheduleRenewal(lease: Lease, atMs: number): void {
    lease.renewAtMs = atMs;
    if (lease.alarm !== undefined && lease.alarm.atMs <= atMs) return;
    lease.alarm?.cancel();
    this.watch(lease);
  }

  private renewalDue(lease: Lease): void {
    lease.renewAtMs = Infinity;
    if (lease.renewing) return;
    lease.renewing = true;
    if (this.due.push(lease) === 1) queueMicrotask(() => void this.renewDue());
  }

  private async renewDue(): Promise<void> {
    const batch = this.due.filter((lease) => lease.state === 'alive');
    this.due = [];
    if (batch.length === 0) return;
    const sentAt = this.host.clock.now();
    const timeoutMs = Math.max(...batch.map((lease) => this.renewBudget(lease)));
    const replies = await this.ask(batch, timeoutMs);
    batch.forEach((lease, index) => {
      lease.renewing = false;
      this.read(lease, sentAt, replies[index] ?? unanswered());
    });
  }

  private renewBudget(lease: Lease): number {
    return Math.max(1, Math.floor(Math.min(this.host.renewTimeoutMs ?? lease.renewEveryMs, lease.leftMs)));
  }

  private async ask(leases: readonly Lease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    try {
      return await this.host.renew(leases, timeoutMs);
    } catch (cause) {
      // A driver that throws has not renewed; it must not end the process either (case B-015).
      return leases.map(() => ({ outcome: 'failed', cause }));
    }
  }

  private read(lease: Lease, sentAt: Lease['sentAt'], reply: RenewReply): void {
    // Checked again: the deadline may have passed, or the lease ended, while the reply was under way.
    if (this.expireIfPast(lease)) return;
    if (reply.outcome === 'gone') this.end(lease, reply.reason, reply.code);
    else if (reply.outcome === 'renewed') this.readRenewed(lease, sentAt, reply.grantedMs);
    else this.readFailed(lease, reply.cause);
  }

  private readRenewed(lease: Lease, sentAt: Lease['sentAt'], grantedMs: number): void {
    lease.failures = 0;
    lease.lastFailure = undefined;
    if (sentAt.monoMs >= lease.sentAt.monoMs) lease.restart(sentAt, Math.min(lease.askedMs, grantedMs));
    this.host.renewedLease(lease, this.host.clock.monoMs() - sentAt.monoMs);
    if (lease.renewed) this.scheduleRenewal(lease, sentAt.monoMs + lease.renewEveryMs);
  }

  private readFailed(lease: Lease, cause: unknown): void {
    lease.failures++;
    lease.lastFailure = cause;
    if (lease.failures === 1) this.host.jeopardy(lease, cause);
    if (!lease.renewed) return;
    const pauseMs = Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, lease.renewEveryMs / 4));
    this.scheduleRenewal(lease, this.host.clock.monoMs() + pauseMs);
  }
}

function unanswered(): RenewReply {
  return { outcome: 'failed', cause: new Error('the driver did not answer for this lease') };
}
