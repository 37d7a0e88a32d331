import {
  LockUnavailableError,
  abortedError,
  formatKey,
  onAbort,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type LockError,
  type LockErrorFacts,
} from '../../core/index.js';
import type { Answer, Failure } from './answer.js';
import { treeName } from './key-names.js';
import { acquireOperation, type AcquireResult, type Sending } from './operations.js';
import { backoffMs } from './pause.js';
import { RedisGrant } from './redis-grant.js';
import type { RedisSession } from './redis-session.js';
import { withdraw } from './release-call.js';
import { Sendings } from './sendings.js';

/** What a call may take beyond its `waitMs`: time for the last answer (design D8 has 1 s; the rest is for the caller). */
const GRACE_MS = 900;
/** A waiter without a message asks again after this long, more or less: behind lost messages and expired holders. */
const CHECK_MS = 1_000;
/** The clocks of both sides may differ by a little about when a lock has expired. */
const EXPIRY_SLACK_MS = 2;
/** Answers `expired` in a row after which the clocks cannot be understood. */
const MAX_EXPIRED = 5;
/** Fences reserved by a grant: one, until hand-over inside the process (design D13) asks for more. */
const SPAN = 1;

type Outcome = DriverGrant | DriverBusy;
type Granted = Extract<AcquireResult, { type: 'granted' }>;

/** One acquire, for its whole life: asks, stands in line, is woken, asks again, and takes itself back (design D4). */
export class AcquireCall {
  private readonly tree: string;
  private readonly token: string;
  private readonly facts: LockErrorFacts;
  private readonly sendings = new Sendings();
  private readonly endMs: number;
  private readonly marginMs: number;
  private arrival = '';
  private queued = false;
  private over = false;
  private failures = 0;
  private expired = 0;
  private woken = false;
  /** Granted, not yet handed out. */
  private grant: RedisGrant | undefined;
  private alarm: (() => void) | undefined;

  constructor(
    private readonly session: RedisSession,
    private readonly request: DriverAcquire,
  ) {
    const { host, options } = session;
    this.tree = treeName(options.prefix, request.key[0]);
    this.token = `lk_${host.random.id()}`;
    this.facts = { key: request.key, operation: 'acquire' };
    this.endMs = this.nowMs + request.waitMs;
    this.marginMs = host.settings.marginMs(request.ttlMs);
  }

  /** Resolves with a definite answer; rejects as `LockDriver.acquire` says. */
  run(): Promise<Outcome> {
    const { signal, key } = this.request;
    if (signal?.aborted === true) return Promise.reject(abortedError(key, signal.reason));
    return new Promise<Outcome>((resolve, reject) => {
      const abort = onAbort(signal, (reason) => {
        this.end();
        reject(abortedError(key, reason));
      });
      // From here on nothing but this callback hands the outcome out, and an abort before it has taken it back.
      const deliver = (settle: () => void): void => {
        abort[Symbol.dispose]();
        settle();
      };
      this.askUntilAnswered().then(
        (outcome) => deliver(() => resolve(outcome)),
        (error: Error) => deliver(() => reject(error)),
      );
    });
  }

  private get nowMs(): number {
    return this.session.host.clock.monoMs();
  }

  private async askUntilAnswered(): Promise<Outcome> {
    try {
      for (;;) {
        const outcome = await this.attempt();
        if (outcome !== undefined) return outcome;
        if (this.over) return { granted: false };
      }
    } catch (error) {
      this.end();
      throw error;
    } finally {
      this.session.waiting.leave(this.request.requestId);
    }
  }

  /** One question and what follows from its answer; undefined: another one is needed, now. */
  private async attempt(): Promise<Outcome | undefined> {
    const mode = this.nowMs < this.endMs ? 'queue' : 'leave';
    const answer = await this.ask(mode);
    // Aborted meanwhile: what was granted is being taken back already.
    if (this.over) return undefined;
    if (answer.type !== 'answered') return await this.failed(answer);
    this.failures = 0;
    const { value, sending } = answer;
    if (value.type !== 'expired') this.expired = 0;
    switch (value.type) {
      case 'granted':
        return await this.granted(value, sending);
      case 'busy':
        return this.busy(value.holder);
      case 'gone':
        return { granted: false, conflict: true };
      case 'expired':
        return this.executedLate();
      case 'queued':
        this.arrival = value.arrival;
        return await this.sleep(value.askAgainMs);
    }
  }

  private async ask(mode: 'queue' | 'leave'): Promise<Answer<AcquireResult>> {
    const { acquaintance, calls } = this.session;
    const deadlineMs = this.askDeadlineMs();
    if (!acquaintance.knows(this.tree)) {
      const met = await acquaintance.meet(this.tree, deadlineMs, this.facts);
      if (met.type === 'unanswered') return { type: 'unsent', cause: met.cause };
      if (met.type !== 'answered') return met;
    }
    const { request } = this;
    const answer = await calls.ask(
      acquireOperation({
        tree: this.tree,
        facts: this.facts,
        l2: request.key[1] ?? '',
        id: request.requestId,
        token: this.token,
        ttlMs: request.ttlMs,
        mode,
        arrival: this.arrival,
        span: SPAN,
        meta: request.metadata === undefined ? '' : JSON.stringify(request.metadata),
        wanted: () => !this.over,
        sent: (sending) => this.sendings.sent(sending),
      }),
      deadlineMs,
    );
    if (answer.type === 'answered' || answer.type === 'refused') this.sendings.answered();
    if (answer.type === 'answered') this.queued = answer.value.type === 'queued';
    return answer;
  }

  /** An answer later than this is worth nothing: the wait is over, or what it grants would be past its deadline. */
  private askDeadlineMs(): number {
    const { attemptMs, ttlMs } = this.request;
    const usableMs = Math.max(1, ttlMs - this.marginMs);
    return Math.min(this.endMs + GRACE_MS, this.nowMs + Math.min(attemptMs, usableMs));
  }

  private async granted(value: Granted, sending: Sending): Promise<Outcome | undefined> {
    const { host, calls, grants } = this.session;
    const { request } = this;
    calls.time.see(value.fence);
    if (value.repaired) {
      const text = `the fence counter of ${this.tree} was no number and was started again: fences may have gone back`;
      host.warn('REDIS_FENCE_RESTARTED', text);
    }
    const lease = host.openLease({
      id: request.requestId,
      askedMs: request.ttlMs,
      grantedMs: value.leftMs,
      fullMs: request.ttlMs,
      sentAt: sending.sentAt,
      renewed: request.renew,
    });
    const grant = new RedisGrant(
      request.requestId,
      request.key,
      this.token,
      BigInt(value.fence),
      value.span,
      lease,
      this.tree,
      this.sendings,
      sending.epoch,
      request.ttlMs,
    );
    this.grant = grant;
    grants.set(lease.id, grant);
    if (this.session.options.replicas !== undefined) await this.confirm(sending);
    return this.over ? undefined : grant;
  }

  /** Takes the grant back unless enough replicas have it (safety list 23). */
  private async confirm(sending: Sending): Promise<void> {
    const { options, calls } = this.session;
    const { min, timeoutMs } = options.replicas ?? { min: 0, timeoutMs: 1 };
    let have = 0;
    try {
      have = (await calls.link.waitForReplicas?.(this.tree, min, timeoutMs)) ?? 0;
    } catch {
      // Not known to be replicated is not replicated.
    }
    // Over another connection WAIT speaks of other writes.
    if (have >= min && sending.epoch === calls.link.epoch) return;
    throw new LockUnavailableError(
      `${formatKey(this.request.key)} was granted, but ${have} of ${min} replicas had it within ${timeoutMs} ms: it was given back`,
      { ...this.facts, storeCode: 'NOT_REPLICATED' },
    );
  }

  private busy(holder: string): DriverBusy {
    // Copies of earlier questions may still be executed, and would stand in line for nobody.
    if (this.sendings.mayHaveCopies(this.session.calls.link)) this.takeBack();
    return holder === '' ? { granted: false } : { granted: false, holder };
  }

  private executedLate(): undefined {
    if (++this.expired <= MAX_EXPIRED && this.nowMs < this.endMs + GRACE_MS) return undefined;
    throw new LockUnavailableError(
      `Redis executes what is asked of ${formatKey(this.request.key)} too late, or its clock is not steady`,
      { ...this.facts, storeCode: 'EXECUTED_LATE' },
    );
  }

  private async failed(failure: Failure): Promise<Outcome | undefined> {
    if (failure.type === 'refused' && !failure.passing) throw failure.error;
    if (this.session.calls.link.state === 'closed') throw this.unavailable(failure);
    if (this.nowMs >= this.endMs + GRACE_MS || this.isFinalFailure(failure)) throw this.unavailable(failure);
    const { unansweredSinceMs } = this.sendings;
    if (unansweredSinceMs !== undefined && this.mayHaveEnded(unansweredSinceMs)) {
      // A grant that nobody heard of may be over by now: this id must not be granted twice (design D4).
      this.takeBack();
      return { granted: false, conflict: true };
    }
    const restMs = this.endMs + GRACE_MS - this.nowMs;
    await this.sleepFor(Math.min(restMs, backoffMs(this.failures++, this.session.host.random)));
    return undefined;
  }

  /** Redis said no, and the wait is over: there is nothing left to hope for. */
  private isFinalFailure(failure: Failure): boolean {
    return failure.type === 'refused' && this.nowMs >= this.endMs;
  }

  private mayHaveEnded(sinceMs: number): boolean {
    return this.nowMs - sinceMs >= this.request.ttlMs - this.marginMs && this.nowMs < this.endMs;
  }

  private unavailable(failure: Failure): LockError {
    if (failure.type === 'refused') return failure.error;
    const { cause } = failure;
    const why = failure.type === 'unanswered' ? 'did not answer' : 'could not be asked';
    return new LockUnavailableError(`Redis ${why} for ${formatKey(this.request.key)}: ${messageOf(cause)}`, {
      ...this.facts,
      cause,
    });
  }

  /** Stands in line until a message comes, a check is due or the wait is over. */
  private async sleep(askAgainMs: number): Promise<undefined> {
    const { waiting, host } = this.session;
    const wasListening = waiting.isListening;
    waiting.enter(this.request.requestId, this);
    // Queued while messages could not arrive, but now they do: whoever was to wake this call has done so in vain.
    if (!wasListening && waiting.isListening) return undefined;
    const jitter = host.random.fraction();
    const checkMs = CHECK_MS * (0.5 + 0.5 * jitter);
    const hintMs = askAgainMs < 0 ? Infinity : askAgainMs + EXPIRY_SLACK_MS + 10 * jitter;
    await this.sleepFor(Math.max(1, Math.min(checkMs, hintMs, this.endMs - this.nowMs)));
    return undefined;
  }

  private sleepFor(ms: number): Promise<void> {
    if (this.woken || this.over) {
      this.woken = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = this.session.host.clock.after(ms, () => this.alarm?.());
      this.alarm = () => {
        this.alarm = undefined;
        this.woken = false;
        timer.cancel();
        resolve();
      };
    });
  }

  /** A message: asks now, or right after the question that is under way. */
  wake(): void {
    this.woken = true;
    this.alarm?.();
  }

  /** Nobody wants it any more. */
  private end(): void {
    if (this.over) return;
    this.over = true;
    this.session.waiting.leave(this.request.requestId);
    this.takeBack();
    this.alarm?.();
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
    withdraw(this.session, {
      tree: this.tree,
      l2: key[1] ?? '',
      requestId,
      token: this.token,
      ttlMs,
      sendings: this.sendings,
      facts: this.facts,
    });
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
