import type { Clock, DriverGrant, Instant, Random, RenewReply, Timer } from '../core/index.js';
import { type ChannelAnswer, type ChannelOperation, type ServerFrame } from '../rpc/index.js';
import {
  backoffMs,
  ChannelClientEnd,
  endByRefusal,
  RETRY_BACKOFF,
  verdictOf,
  type Asker,
  type NoAnswer,
  type TransportStatus,
} from '../session/index.js';
import type { ChannelGrant } from './channel-grant.js';
import { nobody, type BoundedAsker } from './channel-asker.js';
import {
  cancelOperation,
  goodbyeFrame,
  helloFrame,
  operationBytes,
  releaseOperation,
} from './channel-frames.js';
import { type ChannelStream, type StreamListener } from './channel-stream.js';
import { HalfFrames } from './half-frames.js';
import type { LiveSession } from './live-session.js';
import type { Link } from './link.js';

/** Waits are looked after this often at most: who waits is told by the server, this is for when the server is silent. */
const LOOK_EVERY_MS = 250;
/** A server that was asked to wait answers by itself; this much later the wait ends without it. */
const GRACE_MS = 1_000;

export interface ChannelSessionHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly client: string;
  /** A link that is up, or why there is none. */
  link(timeoutMs: number): Promise<Link | { readonly kind: 'unsent'; readonly cause: unknown }>;
  open(link: Link, listener: StreamListener): ChannelStream;
  /** A renewal was not answered in time. */
  unanswered(link: Link, sentAtMs: number): void;
  /** What an answer means for the session. */
  refused(session: LiveSession, outcome: NoAnswer): void;
  /** The server says that the session is over. */
  endedByServer(session: LiveSession, code: string, message: string): void;
  /** The server does not know this grant any more. */
  grantLost(session: LiveSession, grant: DriverGrant): void;
  /** An operator ended this grant. */
  grantRevoked(session: LiveSession, grant: DriverGrant): void;
}

interface PendingRenewal {
  readonly number: number;
  readonly sentAtMs: number;
  settle(reply: RenewReply): void;
}

/**
 * One session on its channel: streams come and go, the session stays as long as its lease. Everything asked in one turn
 * travels in one frame.
 */
export class ChannelSession implements StreamListener {
  private readonly side: ChannelClientEnd<ChannelOperation, ChannelAnswer>;
  private renewals: PendingRenewal[] = [];
  private flushing = false;
  private incarnation = 1;
  /** The server has welcomed the current stream. */
  private welcomed = true;
  private failures = 0;
  private pause: Timer | undefined = undefined;
  private look: Timer | undefined = undefined;
  private lookAtMs = Infinity;
  private believable = false;
  /** Both clocks as read when the reading of the last frame began: one reading for all its answers, which are read in its turn. */
  readAt: Instant;
  /** Number of the last operation sent on the current stream. */
  private lastSent = 0;
  private readonly halves = new HalfFrames((frame) => this.read(frame));

  constructor(
    readonly session: LiveSession,
    private stream: ChannelStream | undefined,
    private readonly host: ChannelSessionHost,
  ) {
    this.readAt = host.clock.now();
    this.side = new ChannelClientEnd(operationBytes, {
      orphan: (operation) => this.give(releaseOperation(operation, 0)),
      forgotten: (operation) => this.give(cancelOperation(operation)),
      lost: (operation) => this.over(operation, (grant) => this.host.grantLost(session, grant)),
      revoked: (operation) => this.over(operation, (grant) => this.host.grantRevoked(session, grant)),
    });
    if (stream !== undefined) stream.listener = this;
    if (stream === undefined || stream.isOver) this.reconnect();
    session.over.on(() => this.end());
  }

  /** Operations that are not answered or not acknowledged. */
  get load(): number {
    return Math.max(this.side.unanswered, this.side.unacknowledged);
  }

  /** Everybody who waits for an answer now. */
  askers(): readonly Asker<ChannelAnswer>[] {
    return this.side.askers();
  }

  ask(operation: ChannelOperation, asker: BoundedAsker): number {
    const number = this.side.ask(operation, asker);
    this.flushSoon();
    if (asker.endMs < this.lookAtMs) this.watch(asker.endMs);
    return number;
  }

  /** Takes an acquire back; nobody waits for the answer. */
  cancel(number: number): void {
    this.give(cancelOperation(number));
  }

  /** Whether a grant of the frame being read can be believed: its lease was alive when reading began, in this turn. */
  get usable(): boolean {
    return this.believable && !this.session.over.fired;
  }

  /** A grant rests on it. */
  keep(grant: ChannelGrant): void {
    this.session.settle(grant);
  }

  /** A grant was given back. */
  drop(grant: ChannelGrant): void {
    this.session.drop(grant);
  }

  /** Moves the lease; answered within `timeoutMs`, whatever happens. */
  renew(timeoutMs: number): Promise<RenewReply> {
    return new Promise((resolve) => {
      const sentAtMs = this.host.clock.monoMs();
      const number = this.side.renew();
      const timer = this.host.clock.after(timeoutMs, () => {
        settle({
          outcome: 'failed',
          cause: new Error(`the renewal was not answered within ${timeoutMs} ms`),
        });
        const link = this.stream?.link;
        if (link !== undefined) this.host.unanswered(link, sentAtMs);
      });
      const settle = (reply: RenewReply): void => {
        timer.cancel();
        this.renewals = this.renewals.filter((pending) => pending.settle !== settle);
        resolve(reply);
      };
      this.renewals.push({ number, sentAtMs, settle });
      this.flushSoon();
    });
  }

  frame(frame: ServerFrame): void {
    this.halves.take(frame, frame.received >= this.lastSent);
  }

  private read(frame: ServerFrame): void {
    const { stream } = this;
    if (stream === undefined) return;
    this.readAt = this.host.clock.now();
    stream.link.heardAtMs = this.readAt.monoMs;
    if (frame.welcome !== undefined) this.greeted();
    if (frame.renewed !== undefined) this.renewedBy(frame.renewed);
    if (this.session.over.fired) return;
    this.believable = this.session.lease.aliveAt(this.readAt);
    const inOrder = this.side.receive(frame);
    // A welcome alone may be followed by the same trouble; what was answered is progress.
    if (frame.answers.length > 0 || frame.renewed !== undefined) this.failures = 0;
    if (frame.ended !== undefined) return this.endedBy(frame.ended);
    if (!inOrder) this.restart();
    else if (this.side.hasToSend) this.flushSoon();
  }

  drained(): void {
    this.flush();
  }

  ended(status: TransportStatus | undefined, cause: unknown): void {
    this.halves.finish();
    const { stream } = this;
    this.stream = undefined;
    if (this.session.over.fired) return;
    if (status === 'UNIMPLEMENTED' || status === 'UNAUTHENTICATED') this.failed(stream, status, cause);
    if (!this.session.over.fired) this.reconnect();
  }

  /** Waits in order of what they ask, so that nobody is answered twice. */
  private give(operation: ChannelOperation): void {
    this.side.ask(operation, nobody(operation.of));
    this.flushSoon();
  }

  /** The server says that a grant is over: its holder is told. */
  private over(operation: number, tell: (grant: DriverGrant) => void): void {
    for (const grant of this.session.grants.all() as readonly ChannelGrant[]) {
      if (grant.number !== operation) continue;
      this.drop(grant);
      tell(grant);
      return;
    }
  }

  /** After everything else of this turn: what is asked in it goes out in one frame. */
  private flushSoon(): void {
    if (this.flushing) return;
    this.flushing = true;
    process.nextTick(this.flushNow);
  }

  private readonly flushNow = (): void => {
    this.flushing = false;
    this.flush();
  };

  private flush(): void {
    while (this.stream?.ready === true && this.welcomed) {
      const parts = this.side.take();
      if (parts === undefined) return;
      const { received, renewal, firstOperation, operations } = parts;
      this.lastSent = firstOperation + operations.length - 1;
      this.stream.write({ hello: undefined, received, renewal, firstOperation, operations, goodbye: false });
    }
  }

  private greeted(): void {
    this.welcomed = true;
    // Whoever waits for a renewal whose stream broke gets the answer of one more.
    if (this.renewals.length > 0) this.side.renew();
    this.flushSoon();
  }

  private renewedBy({ number, leaseMs, error }: NonNullable<ServerFrame['renewed']>): void {
    const answered = this.renewals.filter((pending) => pending.number <= number);
    for (const pending of answered) pending.settle(this.replyOf(leaseMs, error));
    if (error !== undefined) this.host.refused(this.session, this.refusal(error));
  }

  private replyOf(leaseMs: number, error: NonNullable<ServerFrame['renewed']>['error']): RenewReply {
    if (error === undefined) return { outcome: 'renewed', grantedMs: leaseMs };
    const refusal = this.refusal(error);
    const end = endByRefusal(verdictOf(refusal), refusal.refusal, this.session.serverId);
    if (end !== undefined) return { outcome: 'gone', reason: end.reason, code: end.code };
    return { outcome: 'failed', cause: new Error(`the renewal was refused: ${error.code} ${error.message}`) };
  }

  /** Of a session that is going down with its server the server wants to be told; other refusals say what they are. */
  private endedBy(error: NonNullable<ServerFrame['ended']>): void {
    const refusal = this.refusal(error);
    if (verdictOf(refusal) === 'session-over')
      this.host.endedByServer(this.session, error.code, error.message);
    else this.host.refused(this.session, refusal);
  }

  private refusal(error: NonNullable<ServerFrame['ended']>): Extract<NoAnswer, { kind: 'refused' }> {
    const link = this.stream?.link.id ?? 0;
    return { kind: 'refused', refusal: error, link, sentAt: this.host.clock.now() };
  }

  private failed(stream: ChannelStream | undefined, status: TransportStatus, cause: unknown): void {
    const sentAt = this.host.clock.now();
    this.host.refused(this.session, { kind: 'failed', status, cause, link: stream?.link.id ?? 0, sentAt });
  }

  /** The stream has lost its place: another one begins where the last frame in order ended. */
  private restart(): void {
    this.halves.drop();
    this.stream?.close();
    this.stream = undefined;
    this.reconnect();
  }

  /** At once, since the lease runs; then ever more slowly. */
  private reconnect(): void {
    this.welcomed = false;
    if (this.pause !== undefined) return;
    const { clock, random } = this.host;
    const pauseMs = this.failures === 0 ? 0 : backoffMs(RETRY_BACKOFF, this.failures, random.fraction());
    this.failures++;
    this.pause = clock.after(pauseMs, () => {
      this.pause = undefined;
      void this.connect();
    });
  }

  private async connect(): Promise<void> {
    const link = await this.host.link(this.session.lease.ms);
    if (this.session.over.fired || this.stream !== undefined) return;
    if ('kind' in link) return this.reconnect();
    this.side.resume();
    const stream = this.host.open(link, this);
    this.stream = stream;
    this.incarnation++;
    const { sessionId, serverId } = this.session;
    const hello = {
      expectedServer: serverId,
      sessionId,
      leaseMs: 0,
      incarnation: this.incarnation,
      client: this.host.client,
      // Told when the session was opened.
      host: '',
    };
    stream.write(helloFrame(hello, this.side.received));
  }

  private end(): void {
    this.pause?.cancel();
    this.look?.cancel();
    this.lookAtMs = -Infinity;
    this.sayGoodbye();
    const cause = new Error('the session is over');
    for (const pending of [...this.renewals]) pending.settle({ outcome: 'failed', cause });
    this.side.end();
  }

  /** What the session held is free as soon as this arrives; the call that closes it for sure costs a round trip more. */
  private sayGoodbye(): void {
    // A release that keeps its key (`keepMs`) must not be left behind.
    this.flush();
    this.stream?.farewell(goodbyeFrame(this.side.received));
    this.stream = undefined;
  }

  /** One look for all waits, not before the first of them is overdue. */
  private watch(endMs: number): void {
    const { clock } = this.host;
    const atMs = Math.max(endMs + GRACE_MS, clock.monoMs() + LOOK_EVERY_MS);
    this.look?.cancel();
    this.lookAtMs = endMs;
    this.look = clock.after(atMs - clock.monoMs(), () => this.lookAround());
  }

  private lookAround(): void {
    this.lookAtMs = Infinity;
    const nowMs = this.host.clock.monoMs();
    let nextMs = Infinity;
    for (const asker of this.side.askers()) {
      const { endMs } = asker as BoundedAsker;
      if (endMs + GRACE_MS <= nowMs) (asker as BoundedAsker).overdue();
      else if (endMs < nextMs) nextMs = endMs;
    }
    if (nextMs < Infinity) this.watch(nextMs);
  }
}
