import {
  pause,
  abortedError,
  BackendStateError,
  ClosedError,
  formatKey,
  onAbort,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
} from '../core/index.js';
import { AcquireAttempts, errorOfOutcome, verdictOf, type NoAnswer, type Verdict } from '../session/index.js';
import { Hooks } from './hooks.js';
import type { LiveSession } from './live-session.js';
import { releaseToken, type CallTools } from './release-call.js';
import { attemptAcquire, type AttemptOutcome, type Granted } from './session-calls.js';
import { settleDoubt } from './settle-call.js';
import type { SessionGrant } from './session-grants.js';
import { isSession, type SessionSlot } from './session-slot.js';
import type { TurnGate } from './turn-gate.js';

export interface AcquireHost extends CallTools {
  readonly connectTimeoutMs: number;
  readonly gate: TurnGate;
  /** The client's close. */
  readonly closing: Hooks;
  /** Whether several servers answer at this address. */
  readonly alternating: () => boolean;
  /** The code of a passing refusal, or undefined after a grant or a definite busy. */
  storeSaid(code: string | undefined): void;
  background(work: Promise<unknown>): void;
}

type Answer = DriverGrant | DriverBusy;

/**
 * One acquire from the call to its definite end. Its promise is settled at once when the caller aborts or the client
 * closes; what is still under way then is settled in the background, so that nothing is held that nobody owns.
 */
export class AcquireCall {
  private readonly attempts: AcquireAttempts;
  private readonly stopped = new Hooks();
  /** A session must be reached for this attempt even if the wait is over: none was asked yet. */
  private unasked = true;
  /** The session on which the doubts are. */
  private doubtful: LiveSession | undefined = undefined;
  private settling: Promise<void> | undefined = undefined;
  /** Why the last attempt failed, for the error at the end. */
  private problem: NoAnswer | undefined = undefined;

  constructor(
    private readonly host: AcquireHost,
    private readonly slot: SessionSlot,
    private readonly request: DriverAcquire,
  ) {
    const { waitMs, attemptMs } = request;
    this.attempts = new AcquireAttempts({ waitMs, attemptMs, startedMs: host.clock.monoMs() });
  }

  run(): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stop = (error: Error): void => {
        reject(error);
        this.stopped.fire();
      };
      const abort = onAbort(this.request.signal, (reason) => stop(abortedError(this.request.key, reason)));
      const forgetClose = this.host.closing.on(() => stop(closedError(this.request)));
      const work = this.loop()
        .then(resolve, reject)
        .finally(() => {
          abort[Symbol.dispose]();
          forgetClose();
        });
      this.host.background(work);
    });
  }

  private async loop(): Promise<Answer> {
    for (;;) {
      const answer = await this.turn();
      if (answer !== undefined) return answer;
    }
  }

  /** One session, one attempt. Undefined: once more. */
  private async turn(): Promise<Answer | undefined> {
    const inTurn = this.host.gate.enter();
    if (inTurn !== undefined) await inTurn;
    if (this.stopped.fired) return this.giveUp(undefined);
    const { clock } = this.host;
    const reachMs = this.reachMs(clock.monoMs());
    this.unasked = false;
    const session = await this.slot.session(reachMs, (wake) => this.stopped.on(wake));
    if (this.stopped.fired) return this.giveUp(undefined);
    if (!isSession(session)) return this.after(session, undefined);
    this.moveTo(session);
    const done = session.use();
    try {
      return await this.onSession(session, reachMs);
    } finally {
      done();
    }
  }

  private async onSession(session: LiveSession, reachMs: number): Promise<Answer | undefined> {
    const { clock, service } = this.host;
    const link = await service.link(reachMs);
    if (this.stopped.fired) return this.giveUp(session);
    if ('kind' in link) return this.after(link, undefined);
    const plan = this.attempts.plan(clock.monoMs());
    const attempt = { requestId: this.request.requestId, key: this.request.key, ...plan };
    const outcome = await attemptAcquire(service, this.slot, session, link, attempt, (wake) =>
      this.stopped.on(wake),
    );
    if (outcome.kind === 'granted') return this.granted(session, outcome);
    if (outcome.kind === 'nonsense') return this.nonsense(session, outcome);
    if (!this.stopped.fired) return this.after(outcome, session);
    if (outcome.kind !== 'unsent') this.attempts.doubts.answered(verdictOf(outcome), outcome.link);
    return this.giveUp(session);
  }

  private granted(session: LiveSession, grant: Granted): DriverGrant | Promise<Answer | undefined> {
    // A token of a session we did not ask for says nothing about ours (K-168).
    if (grant.sessionId !== session.sessionId) return this.refuseGrant(grant, session, 'unresolved');
    this.attempts.doubts.clear();
    // Over meanwhile: nobody may believe in this grant (K-166).
    if (!session.usable) return this.refuseGrant(grant, session, 'session-over');
    if (this.stopped.fired) {
      this.host.background(releaseToken(this.host, this.slot, session, grant.token));
      throw closedError(this.request);
    }
    const { requestId, key } = this.request;
    const { token, fence } = grant;
    const settled: SessionGrant = {
      granted: true,
      requestId,
      key,
      token,
      fence,
      span: 1,
      lease: session.lease,
      place: -1,
    };
    session.settle(settled);
    this.host.storeSaid(undefined);
    return settled;
  }

  /** A grant that must not be used: given back where it was made. The call goes on as after any failed attempt, in its bounds. */
  private refuseGrant(grant: Granted, session: LiveSession, verdict: Verdict): Promise<Answer | undefined> {
    this.host.background(this.releaseForeign(grant));
    const cause = new Error('the lock was granted on a session that cannot be used');
    const { link } = grant;
    return this.after(
      { kind: 'failed', status: 'OTHER', cause, link, sentAt: this.host.clock.now() },
      session,
      verdict,
    );
  }

  private async releaseForeign({ sessionId, token }: Granted): Promise<void> {
    await this.host.service.release(
      { sessionId, serverId: '' },
      token,
      `rel_${this.host.random.id()}`,
      2_000,
    );
  }

  private nonsense(session: LiveSession, outcome: Extract<AttemptOutcome, { kind: 'nonsense' }>): never {
    this.attempts.doubts.add(outcome.link);
    void this.settleLater(session);
    const { key } = this.request;
    throw new BackendStateError(`the lock server answered ${formatKey(key)} with ${outcome.problem}`, {
      key,
      operation: 'acquire',
    });
  }

  /** An attempt that was not granted, or not even made (`session` undefined): again, or the end. */
  private async after(
    outcome: NoAnswer,
    session: LiveSession | undefined,
    known?: Verdict,
  ): Promise<Answer | undefined> {
    const { clock, random } = this.host;
    if (outcome.kind !== 'unsent' || outcome.late !== true) this.problem = sayWhy(outcome, session);
    const link = session === undefined || outcome.kind === 'unsent' ? undefined : outcome.link;
    // A call is also ended by its session's end; what it had asked for is over with it.
    const verdict = known ?? (session?.over.fired === true ? overtaken(outcome) : verdictOf(outcome));
    if (outcome.kind === 'refused')
      this.host.storeSaid(verdict === 'passing' ? outcome.refusal.code : undefined);
    const step = this.attempts.ended(verdict, link, clock.monoMs(), random.fraction());
    if ((verdict === 'other-server' || verdict === 'session-over') && this.host.alternating())
      throw this.alternationError();
    if (step.next === 'again') {
      // Only the session was at fault: the key has not been asked for on the next one.
      this.unasked = verdict === 'session-over' || verdict === 'other-server';
      if (step.pauseMs > 0) await pause(clock, step.pauseMs, (wake) => this.stopped.on(wake));
      return this.stopped.fired ? this.giveUp(session) : undefined;
    }
    if (step.next === 'conflict') return { granted: false, conflict: true };
    void this.settleLater(this.doubtful);
    if (step.next === 'busy') return { granted: false };
    throw errorOfOutcome(this.problem ?? outcome, { operation: 'acquire', key: this.request.key });
  }

  private giveUp(session: LiveSession | undefined): never {
    void this.settleLater(session ?? this.doubtful);
    throw closedError(this.request);
  }

  /** Settles what is in doubt on this session, in the background, once; undefined if nothing is. Never rejects. */
  private settleLater(session: LiveSession | undefined): Promise<void> | undefined {
    const { doubts } = this.attempts;
    if (!doubts.open || session === undefined || session.over.fired) return undefined;
    const { requestId, key } = this.request;
    this.settling ??= settleDoubt(this.host, this.slot, session, { requestId, key, doubts });
    this.host.background(this.settling);
    return this.settling;
  }

  /** Doubts belong to the session they were sent under: they are over when it is. */
  private moveTo(session: LiveSession): void {
    if (this.doubtful !== session) this.attempts.doubts.clear();
    this.doubtful = session;
  }

  /** The wait, but at least one attempt to reach the server: asking once must be possible on a client that is not connected. */
  private reachMs(nowMs: number): number {
    const leftMs = Math.max(1, this.attempts.leftMs(nowMs));
    const floorMs = this.unasked ? this.host.connectTimeoutMs : 1;
    return Math.min(Math.max(leftMs, floorMs), 2_147_483_647);
  }

  private alternationError(): BackendStateError {
    return new BackendStateError(
      'several lock servers answer at this address, each with locks of its own: nothing would exclude anything',
      { key: this.request.key, operation: 'acquire', code: 'BACKEND_MISCONFIGURED' },
    );
  }
}

/** A call that we ended because its session had: people are told of the session, not of us. */
function sayWhy(outcome: NoAnswer, session: LiveSession | undefined): NoAnswer {
  if (session?.over.fired !== true || outcome.kind !== 'failed') return outcome;
  return { ...outcome, cause: new Error('the session ended while the lock was asked for') };
}

/** What a call's end says once its session is over: at least that the session is. */
function overtaken(outcome: NoAnswer): Verdict {
  const verdict = verdictOf(outcome);
  return verdict === 'unresolved' || verdict === 'unsent' ? 'session-over' : verdict;
}

function closedError({ key }: DriverAcquire): ClosedError {
  return new ClosedError('the klock driver is closed', { key, operation: 'acquire' });
}
