import { NumberMap, type Clock } from '../core/index.js';
import type { LateAnswer } from '../engine/index.js';
import type { EngineHost } from './engine-host.js';
import {
  Ask,
  Outcome,
  type ChannelAnswer,
  type ChannelOperation,
  type ChannelRenewal,
  type ChannelRenewed,
  type ChannelWelcome,
  type ClientFrame,
  type ErrorStatus,
  type ServerFrame,
  type ServerEvent,
  isWireCode,
} from '../rpc/index.js';
import { ChannelServerEnd, type Page } from '../session/index.js';
import { bounded, operationKey, wrongWith } from './channel-checks.js';
import { channelReport } from './channel-report.js';
import type { RequestChecks } from './request-checks.js';
import { MAX_UNACKNOWLEDGED_ANSWERS, MAX_UNREAD_ANSWERS } from './server-limits.js';
import { UnreadReports } from './unread-reports.js';
import type { WatchSink } from './watch-book.js';
import { lockText, type WireErrors } from './wire-errors.js';

/** The stream a session is on. */
export interface SessionStream {
  /** False while what was written has not left yet: nothing more is written until `drained`. */
  readonly ready: boolean;
  write(frame: ServerFrame): void;
  end(): void;
}

export interface ChannelSessionHost {
  readonly host: EngineHost;
  readonly clock: Clock;
  readonly checks: RequestChecks;
  readonly errors: WireErrors;
  /** Moves the lease; the length granted, or why not. */
  renew(sessionId: string): { readonly leaseMs: number; readonly error: ErrorStatus | undefined };
}

interface Waiting {
  readonly operation: ChannelOperation;
  readonly untilMs: number;
  /** Undefined while detached. */
  callId: number | undefined;
}

const NO_PAGES: readonly Page[] = [];
/** Bytes of answers in one frame: below the 64 KiB a message may have, the rest of the frame included. */
const FRAME_BYTES = 50_000;

/** One session that lives on a channel, whichever stream carries it at the moment; told by numbers, each once. */
export class ChannelSession implements WatchSink {
  private readonly side: ChannelServerEnd<ChannelAnswer>;
  private readonly waiting = new NumberMap<Waiting>();
  private stream: SessionStream | undefined = undefined;
  private incarnation = 0;
  private welcome: ChannelWelcome | undefined = undefined;
  private renewed: ChannelRenewed | undefined = undefined;
  private pages: readonly Page[] = NO_PAGES;
  private ended: ErrorStatus | undefined = undefined;
  private flushing = false;
  private readonly reports = new UnreadReports();

  constructor(
    readonly sessionId: string,
    private readonly leaseMs: number,
    private readonly parts: ChannelSessionHost,
  ) {
    this.side = new ChannelServerEnd(sizeOf);
  }

  /** Whether a stream of this incarnation is newer than all before it. */
  isNewer(incarnation: number): boolean {
    return incarnation > this.incarnation;
  }

  /** Carried by this stream from now on; the one before is ended, and what it still brings is not looked at. */
  attach(stream: SessionStream, welcome: ChannelWelcome, received: number): void {
    const before = this.stream;
    this.stream = stream;
    this.incarnation = welcome.incarnation;
    before?.end();
    this.welcome = welcome;
    this.side.acknowledge(received);
    this.side.resume();
    this.reattach();
    this.flushSoon();
  }

  /** The stream broke: who waits keeps the place, and is not granted before a resume. */
  detach(stream: SessionStream): void {
    if (this.stream !== stream) return;
    this.stream = undefined;
    const { host } = this.parts;
    for (const waiting of this.waiting.values()) {
      const { callId } = waiting;
      if (callId === undefined) continue;
      waiting.callId = undefined;
      host.offAnswer(callId);
      host.apply({ type: 'detach-call', callId, keepMs: this.leaseMs });
    }
  }

  /** A frame of the current stream. False if it does not follow what came before. */
  receive(frame: ClientFrame): boolean {
    let inOrder = true;
    this.parts.host.turn(() => (inOrder = this.take(frame)));
    if (!inOrder) return false;
    this.flushSoon();
    return this.side.unacknowledged <= MAX_UNREAD_ANSWERS;
  }

  /** An operator ended the grant of an acquire: written now, before whoever is next is told of its grant. */
  revoked(number: number): void {
    this.side.revoke(plain(number, Outcome.Revoked));
    this.flush();
  }

  /** The session has ended, or is declared to have. */
  deliver(event: ServerEvent): boolean {
    const code = isWireCode(event.code) ? event.code : 'SESSION_GONE';
    this.ended = this.parts.errors.of(code, event.message);
    this.flushSoon();
    return true;
  }

  /** Called after the last event; the stream ends once it was written. */
  end(): void {
    this.flushSoon();
  }

  /** What was written before has left. */
  drained(): void {
    this.flush();
  }

  private take(frame: ClientFrame): boolean {
    this.side.acknowledge(frame.received);
    if (frame.renewal !== undefined) this.renew(frame.renewal);
    const { firstOperation, operations } = frame;
    const known = this.side.accept(firstOperation, operations.length);
    if (known === undefined) return false;
    for (let at = known; at < operations.length; at++) {
      this.perform(operations[at] as ChannelOperation, firstOperation + at);
    }
    if (frame.goodbye) this.goodbye();
    return true;
  }

  private renew(renewal: ChannelRenewal): void {
    const { leaseMs, error } = this.parts.renew(this.sessionId);
    this.renewed = { number: renewal.number, leaseMs, error };
    if (error !== undefined) return;
    const pages = this.side.judge(renewal, this.waiting);
    if (pages !== undefined) this.pages = pages;
  }

  private perform(operation: ChannelOperation, number: number): void {
    switch (operation.ask) {
      case Ask.Acquire:
        return this.acquire(operation, number);
      case Ask.Release:
        return this.release(operation, number);
      case Ask.Cancel:
        return this.cancel(operation, number);
      case Ask.Inspect:
        return this.inspect(operation, number);
    }
  }

  private acquire(operation: ChannelOperation, number: number): void {
    const { checks, errors, host } = this.parts;
    const wrong = wrongWith(operation, checks, errors);
    if (wrong !== undefined) return this.answer(number, Outcome.Refused, wrong);
    if (this.side.unacknowledged >= MAX_UNACKNOWLEDGED_ANSWERS) return this.refuseUnread(number);
    const { waitMs } = operation;
    this.ask(number, operation, waitMs === Infinity ? Infinity : host.nowMs + bounded(waitMs));
  }

  /** Asks the engine, for the first time or again after a resume. */
  private ask(number: number, operation: ChannelOperation, untilMs: number): void {
    const { host } = this.parts;
    const callId = host.newCallId();
    const answer = host.apply({
      type: 'acquire',
      callId,
      sessionId: this.sessionId,
      requestId: String(number),
      key: operationKey(operation),
      waitUntilMs: untilMs,
      span: operation.span,
      metadata: operation.metadata,
    });
    if (answer.type !== 'queued') return this.settle(number, operation, answer);
    this.waiting.set(number, { operation, untilMs, callId });
    host.onAnswer(callId, (late) => this.settle(number, operation, late));
  }

  private settle(number: number, operation: ChannelOperation, answer: LateAnswer): void {
    if (this.waiting.size > 0) this.waiting.delete(number);
    if (answer.type === 'granted') {
      const { token, fence, span } = answer.grant;
      this.side.granted(number, token, fence);
      this.side.answer({
        operation: number,
        outcome: Outcome.Granted,
        token,
        fence,
        span,
        error: undefined,
        report: undefined,
      });
    } else if (answer.refusal.why === 'busy') this.answer(number, Outcome.Busy);
    else if (answer.refusal.why === 'cancelled') this.answer(number, Outcome.Cancelled);
    else {
      const error = this.parts.errors.refused(answer.refusal, lockText(operationKey(operation)));
      this.answer(number, Outcome.Refused, error);
    }
    this.flushSoon();
  }

  private release({ of, keepMs }: ChannelOperation, number: number): void {
    const token = this.side.tokenOf(of);
    this.side.ended(of);
    if (token === undefined) return this.answer(number, Outcome.NotHeld);
    const { host } = this.parts;
    const answer = host.apply({
      type: 'release',
      sessionId: this.sessionId,
      token,
      releaseId: '',
      keepMs: bounded(keepMs),
    });
    this.answer(number, answer.type === 'released' ? Outcome.Released : Outcome.NotHeld);
  }

  /** Whatever has become of the acquire, from now on it is over. */
  private cancel({ of }: ChannelOperation, number: number): void {
    const answer = this.parts.host.apply({
      type: 'cancel-request',
      sessionId: this.sessionId,
      requestId: String(of),
    });
    this.side.ended(of);
    if (this.waiting.delete(of)) this.answer(of, Outcome.Cancelled);
    const released = answer.type === 'was-granted-now-released';
    this.answer(number, released ? Outcome.WasGrantedNowReleased : Outcome.Cancelled);
  }

  private inspect(operation: ChannelOperation, number: number): void {
    const { checks, errors, host } = this.parts;
    const wrong = wrongWith(operation, checks, errors);
    if (wrong !== undefined) return this.answer(number, Outcome.Refused, wrong);
    if (!this.reports.hasRoom(this.side.acknowledgedMessage)) return this.refuseUnread(number);
    const report = channelReport(host.inspect(operationKey(operation)));
    this.side.answer({ ...plain(number, Outcome.Reported), report });
    this.reports.add(this.side.lastMessage, report);
  }

  /** The client does not read what it is told. */
  private refuseUnread(number: number): void {
    const error = this.parts.errors.refused({ why: 'limit', limit: 'unread-answers' }, '');
    this.answer(number, Outcome.Refused, error);
  }

  private answer(number: number, outcome: number, error?: ErrorStatus): void {
    this.side.answer(error === undefined ? plain(number, outcome) : { ...plain(number, outcome), error });
  }

  private goodbye(): void {
    this.parts.host.apply({ type: 'close-session', sessionId: this.sessionId, reason: 'client_close' });
  }

  /** In the order of their numbers, which is the order they came in. */
  private reattach(): void {
    for (const number of this.waiting.keys()) {
      const waiting = this.waiting.get(number);
      if (waiting !== undefined && waiting.callId === undefined)
        this.ask(number, waiting.operation, waiting.untilMs);
    }
  }

  /** Everything of this turn goes into one frame. */
  private flushSoon(): void {
    if (this.flushing || this.stream === undefined) return;
    this.flushing = true;
    process.nextTick(() => {
      this.flushing = false;
      this.flush();
    });
  }

  private flush(): void {
    while (this.stream?.ready === true) {
      const frame = this.nextFrame();
      if (frame === undefined) break;
      this.stream.write(frame);
      if (frame.ended !== undefined) return this.stream.end();
    }
  }

  /** Lists go before answers: they were made before the operations that the answers belong to (design D5). */
  private nextFrame(): ServerFrame | undefined {
    const { welcome, renewed } = this;
    const [page, ...pages] = this.pages;
    const urgent = welcome !== undefined || renewed !== undefined || page !== undefined;
    if (!urgent && !this.side.hasUnsent && this.ended === undefined && !this.side.owesAcknowledgement)
      return undefined;
    this.welcome = this.renewed = undefined;
    this.pages = pages;
    const { received, firstMessage, answers } = this.side.take(page === undefined ? FRAME_BYTES : 0);
    const ended = this.side.hasUnsent ? undefined : this.ended;
    return {
      welcome,
      received,
      renewed,
      pages: page === undefined ? NO_PAGES : [page],
      firstMessage,
      answers,
      ended,
    };
  }
}

function plain(operation: number, outcome: number): ChannelAnswer {
  return { operation, outcome, token: '', fence: 0n, span: 1, error: undefined, report: undefined };
}

/** At most as many bytes as it takes on the wire. */
function sizeOf(answer: ChannelAnswer): number {
  if (answer.error !== undefined) return 1_500;
  return answer.report === undefined ? 80 : 50_000;
}
