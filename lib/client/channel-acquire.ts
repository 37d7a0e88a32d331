import {
  abortedError,
  askerOf,
  BackendStateError,
  ClosedError,
  formatKey,
  laterOf,
  LockUnavailableError,
  onAbort,
  pause,
  type Asker,
  type Clock,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type Later,
  type Random,
} from '../core/index.js';
import { Outcome, type ChannelAnswer } from '../rpc/index.js';
import { AcquireAttempts, errorOfOutcome, verdictOf, type NoAnswer, type Verdict } from '../session/index.js';
import { acquireOperation, releaseOperation } from './channel-frames.js';
import { ChannelGrant } from './channel-grant.js';
import { nobody, type BoundedAsker } from './channel-asker.js';
import type { ChannelSession } from './channel-session.js';
import type { LiveSession } from './live-session.js';
import type { Hooks } from './hooks.js';
import { isSession, type SessionSlot } from './session-slot.js';

type Answer = DriverGrant | DriverBusy;

const BUSY: DriverBusy = { granted: false };

/** Operations of one session under way at most; more are refused for now, so that a slow server bounds our memory. */
export const MAX_LOAD = 100_000;

export interface ChannelAcquireHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly closing: Hooks;
  readonly connectTimeoutMs: number;
  readonly alternating: () => boolean;
  channelOf(session: LiveSession): ChannelSession | undefined;
  /** Acquires that have no session yet. */
  readonly reaching: Set<ChannelAcquire>;
  storeSaid(code: string | undefined): void;
  /** Speaks the six calls instead, once it has turned out that the server knows no channel. */
  elsewhere(request: DriverAcquire): Promise<Answer> | undefined;
}

/**
 * One acquire over a channel. Asked once per session: the channel sees to it that the server gets it, once; what is left
 * of the wait when a session ends is asked on the next.
 */
export class ChannelAcquire implements BoundedAsker {
  readonly of = 0;
  endMs: number;
  private readonly asker: Asker;
  /** Nobody is told before `acquire` has returned. */
  private asked = false;
  private channel: ChannelSession | undefined = undefined;
  private number = 0;
  private over = false;
  private attempts: AcquireAttempts | undefined = undefined;
  private problem: NoAnswer | undefined = undefined;
  /** No server was asked yet: one must be reached even if the wait is over. */
  private unasked = true;
  private readonly startedMs: number;
  private readonly listening: Disposable | undefined = undefined;
  private readonly forgetClose: (() => void) | undefined = undefined;

  constructor(
    private readonly host: ChannelAcquireHost,
    private readonly slot: SessionSlot,
    private readonly request: DriverAcquire,
  ) {
    const { signal, waitMs } = request;
    this.startedMs = request.askedAt?.monoMs ?? host.clock.monoMs();
    this.endMs = this.startedMs + waitMs;
    this.asker = askerOf(request);
    if (signal !== undefined)
      this.listening = onAbort(signal, (reason) => this.stop(abortedError(request.key, reason)));
    const session = slot.current;
    const channel = session?.usable === true ? host.channelOf(session) : undefined;
    if (!this.over && channel !== undefined) this.send(channel, waitMs);
    else if (!this.over) {
      host.reaching.add(this);
      this.forgetClose = host.closing.on(() => this.stop(this.closedError()));
      void this.reach();
    }
    this.asked = true;
  }

  /** What the driver answers for now. */
  get reply(): Promise<Answer> | Later {
    return laterOf(this.asker);
  }

  answered(answer: ChannelAnswer): void {
    const { channel } = this;
    if (channel === undefined) return;
    if (answer.outcome === Outcome.Granted) this.granted(channel, answer);
    else if (!this.over) this.denied(channel, answer);
    channel.session.finish();
  }

  /** The session ended; what it was asked is over with it. */
  unanswered(): void {
    this.channel?.session.finish();
    if (this.over) return;
    if (this.host.closing.fired) this.stop(this.closedError());
    else
      this.again('session-over', { kind: 'unsent', cause: new Error('the session ended during the wait') });
  }

  /** The wait was lost on the server: what is left of it is asked for anew. */
  askAgain(): void {
    this.channel?.session.finish();
    if (!this.over)
      this.again('session-over', { kind: 'unsent', cause: new Error('the server lost the wait') });
  }

  /** The server has not answered in time: the caller goes, the channel finds out what became of it. */
  overdue(): void {
    this.endMs = Infinity;
    if (this.over) return;
    const cause = new Error('the server did not answer in time');
    this.stop(errorOfOutcome(this.problem ?? { kind: 'unsent', cause }, this.facts));
  }

  /** The instance closes: as its own signal would. */
  abort(reason: unknown): void {
    this.stop(abortedError(this.request.key, reason));
  }

  private get facts(): { readonly operation: 'acquire'; readonly key: DriverAcquire['key'] } {
    return { operation: 'acquire', key: this.request.key };
  }

  private get leftMs(): number {
    const { waitMs } = this.request;
    if (waitMs === Infinity || waitMs === 0) return waitMs;
    return Math.max(0, Math.ceil(this.endMs - this.host.clock.monoMs()));
  }

  private send(channel: ChannelSession, waitMs: number): void {
    if (channel.load >= MAX_LOAD) {
      const message = `${channel.load} operations of this client are under way: ${formatKey(this.request.key)} was not asked for`;
      return this.fail(new LockUnavailableError(message, this.facts));
    }
    this.unasked = false;
    if (this.host.reaching.size > 0) this.host.reaching.delete(this);
    this.channel = channel;
    channel.session.begin();
    this.number = channel.ask(acquireOperation(this.request, waitMs), this);
  }

  private granted(channel: ChannelSession, { operation, token, fence, span }: ChannelAnswer): void {
    const { key } = this.request;
    // Taken back already: its cancel is under way and ends the grant.
    if (this.over) return;
    if (token === '') {
      channel.ask(releaseOperation(operation, 0), nobody(operation));
      const message = `the lock server answered ${formatKey(key)} with a grant without a token`;
      return this.fail(new BackendStateError(message, this.facts));
    }
    if (!channel.usable) {
      // Past its deadline: nobody may believe in this grant (K-166).
      channel.ask(releaseOperation(operation, 0), nobody(operation));
      return this.again('session-over', { kind: 'unsent', cause: new Error('the grant came too late') });
    }
    const grant = new ChannelGrant(channel, operation, key, token, fence, span, channel.readAt);
    channel.keep(grant);
    this.host.storeSaid(undefined);
    this.settle(grant);
  }

  private denied(channel: ChannelSession, answer: ChannelAnswer): void {
    if (answer.outcome === Outcome.Busy) this.busy();
    else this.refused(channel, answer);
  }

  private busy(): void {
    this.host.storeSaid(undefined);
    this.settle(BUSY);
  }

  private refused(channel: ChannelSession, { error, outcome }: ChannelAnswer): void {
    const { clock } = this.host;
    const refusal = error ?? { status: 500, code: 'INTERNAL', message: `outcome ${outcome}`, serverId: '' };
    const problem: NoAnswer = { kind: 'refused', refusal, link: 0, sentAt: clock.now() };
    const verdict = channel.session.over.fired ? 'session-over' : verdictOf(problem);
    this.host.storeSaid(verdict === 'passing' ? refusal.code : undefined);
    this.again(verdict, problem);
  }

  /** A session has to be had first. Never rejects. */
  private async reach(): Promise<void> {
    const { slot, host } = this;
    const session = await slot.session(this.reachMs, (wake) => host.closing.on(wake));
    if (this.over) return;
    if (!isSession(session)) {
      const answer = host.elsewhere(this.rest());
      if (answer !== undefined) return this.settleWith(answer);
      return this.again(verdictOf(session), session);
    }
    const channel = host.channelOf(session);
    if (channel === undefined)
      this.again('session-over', { kind: 'unsent', cause: new Error('the session ended') });
    else this.send(channel, this.leftMs);
  }

  /** The wait, but at least one attempt to reach the server: asking once must be possible on a client that is not connected. */
  private get reachMs(): number {
    const floorMs = this.unasked ? this.host.connectTimeoutMs : 1;
    return Math.min(Math.max(this.leftMs, floorMs), 2_147_483_647);
  }

  private rest(): DriverAcquire {
    const { leftMs, request } = this;
    return { ...copyOf(request), waitMs: leftMs };
  }

  private again(verdict: Verdict, problem: NoAnswer): void {
    const { clock, random } = this.host;
    this.problem = problem;
    this.host.reaching.add(this);
    this.attempts ??= new AcquireAttempts({
      waitMs: this.request.waitMs,
      attemptMs: Infinity,
      startedMs: this.startedMs,
    });
    if (verdict === 'other-server' && this.host.alternating()) {
      return this.fail(this.alternationError());
    }
    const step = this.attempts.ended(verdict, undefined, clock.monoMs(), random.fraction());
    if (step.next === 'conflict') return this.settle({ granted: false, conflict: true });
    if (step.next === 'busy') return this.busy();
    if (step.next !== 'again') return this.fail(errorOfOutcome(problem, this.facts));
    if (verdict === 'session-over' || verdict === 'other-server') this.unasked = true;
    void pause(clock, step.pauseMs, (wake) => this.host.closing.on(wake)).then(() => {
      if (this.over) return;
      if (this.host.closing.fired) this.stop(this.closedError());
      else void this.reach();
    });
  }

  /** The caller aborted, or the client is closed: settled at once, taken back in the background. */
  private stop(error: Error): void {
    if (this.over) return;
    this.fail(error);
    if (this.number > 0) this.channel?.cancel(this.number);
  }

  private settle(answer: Answer): void {
    this.leave();
    if (this.asked) this.asker.settle(answer);
    else queueMicrotask(() => this.asker.settle(answer));
  }

  private settleWith(answer: Promise<Answer>): void {
    this.leave();
    answer.then(
      (later) => this.asker.settle(later),
      (error: unknown) => this.asker.fail(error),
    );
  }

  private fail(error: Error): void {
    this.leave();
    if (this.asked) this.asker.fail(error);
    else queueMicrotask(() => this.asker.fail(error));
  }

  private leave(): void {
    this.over = true;
    if (this.host.reaching.size > 0) this.host.reaching.delete(this);
    this.listening?.[Symbol.dispose]();
    this.forgetClose?.();
  }

  private alternationError(): BackendStateError {
    return new BackendStateError(
      'several lock servers answer at this address, each with locks of its own: nothing would exclude anything',
      { ...this.facts, code: 'BACKEND_MISCONFIGURED' },
    );
  }

  private closedError(): ClosedError {
    return new ClosedError('the klock driver is closed', this.facts);
  }
}

/** Requests may be objects with getters, which a spread would lose. */
export function copyOf(request: DriverAcquire): DriverAcquire {
  const { requestId, key, ttlMs, waitMs, attemptMs, renew, keeps = false, metadata, signal } = request;
  return {
    requestId,
    key,
    ttlMs,
    waitMs,
    attemptMs,
    renew,
    keeps,
    ...(metadata === undefined ? {} : { metadata }),
    ...(signal === undefined ? {} : { signal }),
  };
}
