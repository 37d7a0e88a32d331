import {
  askerOf,
  LockUnavailableError,
  abortedError,
  formatKey,
  onAbort,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  laterOf,
  type Asker,
  type Later,
  type Linked,
  type LinkedList,
  type LockError,
  type LockErrorFacts,
  type Timer,
} from '../../core/index.js';
import type { Answer, Failure } from './answer.js';
import { treeName } from './key-names.js';
import { readAcquire, type AcquireResult, type Operation, type Sending } from './operations.js';
import { backoffMs } from './pause.js';
import { RedisGrant } from './redis-grant.js';
import type { ReplicaOptions } from './redis-options.js';
import type { RedisSession } from './redis-session.js';
import { ReleaseCall } from './release-call.js';
import { Sendings } from './sendings.js';
import type { Sleeper } from './waiting-room.js';

/** What a call may take beyond its `waitMs`: time for the last answer (design D8 has 1 s; the rest is for the caller). */
const GRACE_MS = 900;
/** A waiter without a message asks again after this long, more or less: behind lost messages and expired holders. */
const CHECK_MS = 1_000;
/** The clocks of both sides may differ by a little about when a lock has expired. */
const EXPIRY_SLACK_MS = 2;
/** Answers `expired` in a row after which the clocks cannot be understood. */
const MAX_EXPIRED = 5;

type Outcome = DriverGrant | DriverBusy;
type Granted = Extract<AcquireResult, { type: 'granted' }>;

/** One acquire, for its whole life: asks, stands in line, is woken, asks again, and takes itself back (design D4). */
export class AcquireCall implements Operation<AcquireResult>, Linked<AcquireCall>, Sleeper {
  list: LinkedList<AcquireCall> | undefined = undefined;
  before: AcquireCall | undefined = undefined;
  after: AcquireCall | undefined = undefined;
  readonly tree: string;
  readonly meta: string;
  private readonly token: string;
  private readonly sendings = new Sendings();
  private readonly endMs: number;
  private arrival = '0';
  /** Fences asked for by the last sending: there may be more siblings to pass on to by the next. */
  private span = 1;
  private queued = false;
  /** Nobody wants it any more, or it is settled. */
  private over = false;
  private failures = 0;
  private expired = 0;
  /** A message came while it was asking. */
  private woken = false;
  private timer: Timer | undefined = undefined;
  private listening: Disposable | undefined = undefined;
  /** Granted, not yet handed out. */
  private grant: RedisGrant | undefined = undefined;
  private readonly asker: Asker;

  constructor(
    private readonly session: RedisSession,
    private readonly request: DriverAcquire,
  ) {
    const { host, options } = session;
    this.asker = askerOf(request);
    this.tree = treeName(options.prefix, request.key[0]);
    this.token = `lk_${host.random.id()}`;
    this.meta = request.metadata === undefined ? '' : JSON.stringify(request.metadata);
    this.endMs = this.nowMs + request.waitMs;
  }

  get name(): 'acquire' {
    return 'acquire';
  }

  get l2(): string {
    return this.request.key[1] ?? '';
  }

  get facts(): LockErrorFacts {
    return { key: this.request.key, operation: 'acquire' };
  }

  /** Tells a definite answer, or fails as `LockDriver.acquire` says: to the request itself where it can be told. */
  run(): Promise<Outcome> | Later {
    const { signal, key } = this.request;
    if (signal?.aborted === true) return Promise.reject(abortedError(key, signal.reason));
    this.session.unsettled.add(this);
    if (signal !== undefined) this.listening = onAbort(signal, (reason) => this.aborted(reason));
    this.attempt();
    return laterOf(this.asker);
  }

  /** A message: asks now, or right after the question that is under way. */
  wake(): void {
    this.woken = true;
    if (this.timer !== undefined) this.wakeUp();
  }

  aborted(reason: unknown): void {
    this.fail(abortedError(this.request.key, reason));
  }

  isWanted(): boolean {
    return !this.over;
  }

  get who(): string {
    return `${this.token} ${this.request.requestId}`;
  }

  read(result: readonly unknown[]): AcquireResult {
    return readAcquire(result);
  }

  words(sending: Sending): string {
    const { ttlMs, span = 1 } = this.request;
    this.span = span;
    const mode = sending.sentAt.monoMs < this.endMs ? 'queue' : 'leave';
    this.sendings.sent(sending);
    return `${ttlMs} ${sending.notAfterMs} ${mode} ${this.arrival} ${span}`;
  }

  settled(answer: Answer<AcquireResult>): void {
    if (answer.type === 'answered' || answer.type === 'refused') this.sendings.answered();
    // Aborted meanwhile: what was granted is being taken back already.
    if (this.over) return;
    try {
      if (answer.type === 'answered') this.answered(answer.value, answer.sending);
      else this.failed(answer);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** What a grant is good for, from its sending on. */
  private get usableMs(): number {
    const { ttlMs } = this.request;
    return ttlMs - this.session.host.settings.marginMs(ttlMs);
  }

  private get nowMs(): number {
    return this.session.host.clock.monoMs();
  }

  /** Hands the outcome out; whatever comes later finds it over. */
  private settle(outcome: Outcome): void {
    if (this.over) return;
    this.leave();
    this.asker.settle(outcome);
  }

  /** Ends without a lock, and takes back what Redis may know of it. */
  private fail(error: Error): void {
    if (this.over) return;
    this.leave();
    this.takeBack();
    this.asker.fail(error);
  }

  private leave(): void {
    this.over = true;
    this.timer?.cancel();
    this.timer = undefined;
    this.session.unsettled.delete(this);
    this.session.waiting.leave(this.request.requestId);
    this.listening?.[Symbol.dispose]();
  }

  private attempt(): void {
    const { acquaintance, calls } = this.session;
    this.woken = false;
    const deadlineMs = this.askDeadlineMs();
    if (acquaintance.knows(this.tree)) return calls.send(this, deadlineMs);
    void acquaintance.meet(this.tree, deadlineMs, this.facts).then((met) => {
      if (this.over) return;
      if (met.type === 'answered') this.attempt();
      else this.failed(met.type === 'unanswered' ? { type: 'unsent', cause: met.cause } : met);
    });
  }

  /** An answer later than this is worth nothing: the wait is over, or what it grants would be past its deadline. */
  private askDeadlineMs(): number {
    const usableMs = Math.max(1, this.usableMs);
    return Math.min(this.endMs + GRACE_MS, this.nowMs + Math.min(this.request.attemptMs, usableMs));
  }

  private answered(value: AcquireResult, sending: Sending): void {
    this.failures = 0;
    this.queued = value.type === 'queued';
    if (value.type !== 'expired') this.expired = 0;
    switch (value.type) {
      case 'granted':
        return this.granted(value, sending);
      case 'busy':
        return this.busy(value.holder);
      case 'gone':
        return this.settle({ granted: false, conflict: true });
      case 'expired':
        return this.executedLate();
      case 'queued':
        this.arrival = value.arrival;
        return this.sleep(value.askAgainMs);
    }
  }

  private granted(value: Granted, sending: Sending): void {
    const { host, calls, grants, options } = this.session;
    const { request } = this;
    const { requestId, key, ttlMs } = request;
    if (value.repaired) {
      const text = `the fence counter of ${this.tree} was no number and was started again: fences may have gone back`;
      host.warn('REDIS_FENCE_RESTARTED', text);
    }
    const lease = host.openLease({
      id: requestId,
      askedMs: ttlMs,
      grantedMs: value.leftMs ?? ttlMs,
      fullMs: ttlMs,
      sentAt: sending.sentAt,
      renewed: request.renew,
    });
    const fence = BigInt(value.fence);
    const span = value.span ?? this.span;
    calls.time.see(span === 1 ? value.fence : String(fence + BigInt(span - 1)));
    const { token, tree, sendings } = this;
    const { epoch } = sending;
    this.grant = new RedisGrant({
      requestId,
      key,
      token,
      fence,
      span,
      lease,
      tree,
      sendings,
      epoch,
      ttlMs,
    });
    grants.set(lease.id, this.grant);
    if (options.replicas === undefined) this.settle(this.grant);
    else void this.confirm(this.grant, options.replicas, epoch);
  }

  /** Hands the grant out once enough replicas have it; else takes it back (safety list 23). */
  private async confirm(grant: RedisGrant, { min, timeoutMs }: ReplicaOptions, epoch: number): Promise<void> {
    const { link } = this.session.calls;
    let have = 0;
    try {
      have = (await link.waitForReplicas?.(this.tree, min, timeoutMs)) ?? 0;
    } catch {
      // Not known to be replicated is not replicated.
    }
    // Over another connection WAIT speaks of other writes.
    if (have >= min && epoch === link.epoch) return this.settle(grant);
    const text = `${formatKey(this.request.key)} was granted, but ${have} of ${min} replicas had it within ${timeoutMs} ms: it was given back`;
    this.fail(new LockUnavailableError(text, { ...this.facts, storeCode: 'NOT_REPLICATED' }));
  }

  private busy(holder: string): void {
    // Copies of earlier questions may still be executed, and would stand in line for nobody.
    if (this.sendings.mayHaveCopies(this.session.calls.link)) this.takeBack();
    this.settle(holder === '' ? { granted: false } : { granted: false, holder });
  }

  private executedLate(): void {
    if (++this.expired <= MAX_EXPIRED && this.nowMs < this.endMs + GRACE_MS) return this.attempt();
    const text = `Redis executes what is asked of ${formatKey(this.request.key)} too late, or its clock is not steady`;
    this.fail(new LockUnavailableError(text, { ...this.facts, storeCode: 'EXECUTED_LATE' }));
  }

  private failed(failure: Failure): void {
    const { calls, host } = this.session;
    const nowMs = this.nowMs;
    const isFinal = failure.type === 'refused' && (!failure.passing || nowMs >= this.endMs);
    if (isFinal || calls.link.state === 'closed' || nowMs >= this.endMs + GRACE_MS) {
      return this.fail(this.unavailable(failure));
    }
    const { unansweredSinceMs } = this.sendings;
    if (unansweredSinceMs !== undefined && this.mayHaveEnded(unansweredSinceMs)) {
      // A grant that nobody heard of may be over by now: this id must not be granted twice (design D4).
      this.takeBack();
      return this.settle({ granted: false, conflict: true });
    }
    this.askAgainIn(Math.min(this.endMs + GRACE_MS - nowMs, backoffMs(this.failures++, host.random)));
  }

  private mayHaveEnded(sinceMs: number): boolean {
    const { nowMs } = this;
    return nowMs - sinceMs >= this.usableMs && nowMs < this.endMs;
  }

  private unavailable(failure: Failure): LockError {
    if (failure.type === 'refused') return failure.error;
    const { cause } = failure;
    const why = failure.type === 'unanswered' ? 'did not answer' : 'could not be asked';
    const text = `Redis ${why} for ${formatKey(this.request.key)}: ${messageOf(cause)}`;
    return new LockUnavailableError(text, { ...this.facts, cause });
  }

  /** Stands in line until a message comes, a check is due or the wait is over. */
  private sleep(askAgainMs: number): void {
    const { waiting, host } = this.session;
    const wasListening = waiting.isListening;
    waiting.enter(this.request.requestId, this);
    // Woken while it was asking; or messages arrive only now, and one may have been sent before.
    if (this.woken || (!wasListening && waiting.isListening)) return this.attempt();
    const jitter = host.random.fraction();
    const checkMs = CHECK_MS * (0.5 + 0.5 * jitter);
    const hintMs = askAgainMs < 0 ? Infinity : askAgainMs + EXPIRY_SLACK_MS + 10 * jitter;
    this.askAgainIn(Math.max(1, Math.min(checkMs, hintMs, this.endMs - this.nowMs)));
  }

  private askAgainIn(ms: number): void {
    this.timer = this.session.host.clock.after(ms, () => this.wakeUp());
  }

  private wakeUp(): void {
    this.timer?.cancel();
    this.timer = undefined;
    if (!this.over) this.attempt();
  }

  /** Tells Redis that this id is nobody's, if Redis may know it. */
  private takeBack(): void {
    const { grants, calls } = this.session;
    if (this.grant !== undefined) {
      grants.delete(this.grant.lease.id);
      this.grant.lease.close();
    } else if (!this.queued && !this.sendings.mayHaveCopies(calls.link)) {
      return;
    }
    this.queued = false;
    const { requestId, key, ttlMs } = this.request;
    const { tree, l2, token, sendings } = this;
    const taken = { key, tree, l2, requestId, token, ttlMs, sendings };
    this.session.background.run(() => new ReleaseCall(this.session, taken, 'acquire').run());
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
