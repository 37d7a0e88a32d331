import type { ServerDuplexStream } from '@grpc/grpc-js';
import { type Clock, MAX_ID_BYTES, maskId, type Timer } from '../core/index.js';
import {
  type ChannelHello,
  type ClientFrame,
  durationFromWire,
  type ErrorStatus,
  PROTOCOL_VERSION,
  type ServerFrame,
  type SessionResponse,
} from '../rpc/index.js';
import { ChannelSession, type SessionStream } from './channel-session.js';
import type { EngineHost } from './engine-host.js';
import type { OpenCall, OpenCalls } from './open-call.js';
import type { RequestChecks } from './request-checks.js';
import type { ServerCounters } from './server-counters.js';
import { FIRST_MESSAGE_TIMEOUT_MS } from './server-limits.js';
import { causeText, type ServerLog } from './server-log.js';
import type { SessionRpcs } from './session-rpcs.js';
import type { WatchBook } from './watch-book.js';
import type { WireErrors } from './wire-errors.js';

type Stream = ServerDuplexStream<ClientFrame, ServerFrame>;

export interface ChannelRpcParts {
  readonly host: EngineHost;
  readonly book: WatchBook;
  readonly calls: OpenCalls;
  readonly checks: RequestChecks;
  readonly errors: WireErrors;
  readonly counters: ServerCounters;
  readonly log: ServerLog;
  readonly clock: Clock;
  readonly sessions: SessionRpcs;
}

/** Channel: sessions that are carried by a stream. */
export class ChannelRpc {
  private readonly sessions = new Map<string, ChannelSession>();

  constructor(readonly parts: ChannelRpcParts) {}

  /** Sessions that live on a channel, whether a stream carries them now or not. */
  get size(): number {
    return this.sessions.size;
  }

  /** Serves one stream; bound, for grpc-js. */
  readonly serve = (stream: Stream): void => {
    this.parts.counters.add('stream_calls');
    const call = this.parts.calls.get(stream.metadata);
    // Every call passes the gate; one that did not has nobody to answer for it.
    if (call === undefined) stream.destroy();
    else new ChannelStream(stream, call, this).begin();
  };

  find(sessionId: string): ChannelSession | undefined {
    return this.sessions.get(sessionId);
  }

  /** A session of its own for a new channel, if there is room for one. */
  add(sessionId: string, leaseMs: number): ChannelSession {
    const { host, clock, checks, errors, book } = this.parts;
    const session = new ChannelSession(sessionId, leaseMs, {
      host,
      clock,
      checks,
      errors,
      renew: (id) => this.renew(id),
    });
    this.sessions.set(sessionId, session);
    host.onSessionEnd(sessionId, () => this.sessions.delete(sessionId));
    book.add(sessionId, session);
    return session;
  }

  /** The answer of the renewal of the six calls, with the same checks. */
  renew(sessionId: string): { readonly leaseMs: number; readonly error: ErrorStatus | undefined } {
    let answer: SessionResponse | undefined;
    const request = { sessionId, protocolVersion: PROTOCOL_VERSION, expectedServer: '' };
    this.parts.sessions.heartbeat(request, (said) => (answer = said));
    return { leaseMs: durationFromWire(answer?.leaseMs ?? 0n), error: answer?.error };
  }
}

/** One stream, from its first frame to its end. */
class ChannelStream implements SessionStream {
  ready = true;
  private session: ChannelSession | undefined = undefined;
  private greeted = false;
  private over = false;
  private code = 'OK';
  private limit: Timer | undefined = undefined;

  constructor(
    private readonly stream: Stream,
    private readonly call: OpenCall,
    private readonly rpc: ChannelRpc,
  ) {}

  begin(): void {
    const { stream } = this;
    this.limit = this.rpc.parts.clock.after(FIRST_MESSAGE_TIMEOUT_MS, () => {
      if (!this.greeted) this.end();
    });
    // Without a listener an abruptly closed connection would end the process.
    stream.on('error', () => this.leave());
    stream.on('data', (frame: ClientFrame) => this.read(frame));
    stream.on('drain', () => {
      this.ready = true;
      this.session?.drained();
    });
    stream.on('end', () => this.end());
    this.call.onClose(() => {
      this.limit?.cancel();
      this.leave();
      this.report();
    });
  }

  write(frame: ServerFrame): void {
    if (!this.over) this.ready = this.stream.write(frame);
  }

  end(): void {
    if (this.over) return;
    this.leave();
    this.stream.end();
  }

  private read(frame: ClientFrame): void {
    // Of a stream that was replaced nothing counts any more.
    if (this.over) return;
    try {
      if (this.session !== undefined) this.next(this.session, frame);
      else if (!this.greeted) this.first(frame);
    } catch (cause) {
      const { log, errors } = this.rpc.parts;
      log.write('error', 'internal_error', { method: this.call.method, cause: causeText(cause) });
      this.refuse(errors.of('INTERNAL', 'internal error'));
    }
  }

  private next(session: ChannelSession, frame: ClientFrame): void {
    if (!session.receive(frame)) this.end();
  }

  private first({ hello, received }: ClientFrame): void {
    this.greeted = true;
    const { checks, errors } = this.rpc.parts;
    if (hello === undefined)
      return this.refuse(errors.of('BAD_REQUEST', 'the first frame must have a hello'));
    const wrong =
      checks.envelope(hello) ??
      checks.length('client', hello.client, MAX_ID_BYTES) ??
      checks.length('host', hello.host, MAX_ID_BYTES);
    if (wrong !== undefined) return this.refuse(wrong);
    if (hello.sessionId === '') this.open(hello);
    else this.resume(hello, received);
  }

  private open(hello: ChannelHello): void {
    const { protocolVersion, expectedServer, client, host } = hello;
    const request = { leaseMs: BigInt(hello.leaseMs), protocolVersion, expectedServer };
    const facts = {
      exactlyOnce: true,
      host: host === '' ? this.call.peer : host,
      ...(client === '' ? {} : { client }),
    };
    this.rpc.parts.sessions.create(request, (answer) => this.opened(hello, answer), this.call, facts);
  }

  private opened(hello: ChannelHello, { sessionId, leaseMs, error }: SessionResponse): void {
    if (error !== undefined) return this.refuse(error);
    const session = this.rpc.add(sessionId, durationFromWire(leaseMs));
    if (!this.over) this.carry(session, sessionId, durationFromWire(leaseMs), hello.incarnation, 0);
  }

  /** Within the lease only: a session that is over is not found any more. */
  private resume({ sessionId, incarnation }: ChannelHello, received: number): void {
    const { errors } = this.rpc.parts;
    const { leaseMs, error } = this.rpc.renew(sessionId);
    if (error !== undefined) return this.refuse(error);
    const session = this.rpc.find(sessionId);
    if (session === undefined)
      return this.refuse(errors.of('SESSION_NOT_FOUND', 'no such session on a channel'));
    if (!session.isNewer(incarnation)) return this.end();
    this.carry(session, sessionId, leaseMs, incarnation, received);
  }

  private carry(
    session: ChannelSession,
    sessionId: string,
    leaseMs: number,
    incarnation: number,
    received: number,
  ): void {
    this.session = session;
    const { serverId } = this.rpc.parts.errors;
    session.attach(
      this,
      { protocolVersion: PROTOCOL_VERSION, serverId, sessionId, leaseMs, incarnation },
      received,
    );
  }

  private refuse(error: ErrorStatus): void {
    this.code = error.code;
    this.rpc.parts.counters.add('stream_failures');
    this.write({
      welcome: undefined,
      received: 0,
      renewed: undefined,
      pages: [],
      firstMessage: 0,
      answers: [],
      ended: error,
    });
    this.end();
  }

  private leave(): void {
    if (this.over) return;
    this.over = true;
    this.session?.detach(this);
  }

  private report(): void {
    const { log, clock } = this.rpc.parts;
    const level = this.code === 'OK' ? 'debug' : 'info';
    if (!log.enabled(level)) return;
    log.write(level, 'grpc_stream_call', {
      method: this.call.method,
      code: this.code,
      outcome: this.code === 'OK' ? 'ok' : 'refused',
      duration_ms: Math.round(clock.monoMs() - this.call.startedMs),
      peer: this.call.peer,
      session: this.session === undefined ? undefined : maskId(this.session.sessionId),
    });
  }
}
