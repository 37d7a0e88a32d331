import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { type Clock, MAX_ID_BYTES, maskId } from '../core/index.js';
import type { ClientWatchMessage, ErrorStatus, ServerEvent } from '../rpc/index.js';
import type { EngineHost } from './engine-host.js';
import type { OpenCalls } from './open-call.js';
import type { RequestChecks } from './request-checks.js';
import type { ServerCounters } from './server-counters.js';
import { FIRST_MESSAGE_TIMEOUT_MS, MAX_UNREAD_EVENTS } from './server-limits.js';
import type { ServerLog } from './server-log.js';
import type { WatchBook, WatchSink } from './watch-book.js';
import type { WireErrors } from './wire-errors.js';

type WatchStream = ServerDuplexStream<ClientWatchMessage, ServerEvent>;

export interface WatchRpcParts {
  readonly host: EngineHost;
  readonly book: WatchBook;
  readonly calls: OpenCalls;
  readonly checks: RequestChecks;
  readonly errors: WireErrors;
  readonly counters: ServerCounters;
  readonly log: ServerLog;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

/** WatchSession. */
export class WatchRpc {
  constructor(private readonly parts: WatchRpcParts) {}

  /** Serves one stream; bound, for grpc-js. */
  readonly watch = (stream: WatchStream): void => {
    this.parts.counters.add('stream_calls');
    new Watch(stream, this.parts).begin();
  };
}

class Watch implements WatchSink {
  private sessionId: string | undefined = undefined;
  private ended = false;
  private code = 'OK';

  constructor(
    private readonly stream: WatchStream,
    private readonly parts: WatchRpcParts,
  ) {}

  begin(): void {
    const { stream } = this;
    const limit = this.parts.clock.after(FIRST_MESSAGE_TIMEOUT_MS, () => {
      if (this.sessionId === undefined) this.end();
    });
    // Without listeners an abruptly closed connection would end the process.
    stream.on('error', () => this.leave());
    stream.on('data', (message: ClientWatchMessage) => this.first(message));
    stream.on('end', () => this.end());
    this.parts.calls.get(stream.metadata)?.onClose(() => {
      limit.cancel();
      this.leave();
      this.report();
    });
  }

  deliver(event: ServerEvent): boolean {
    if (this.ended || this.stream.cancelled || this.stream.writableLength >= MAX_UNREAD_EVENTS) return false;
    this.stream.write(event);
    return true;
  }

  end(): void {
    if (this.ended) return;
    this.leave();
    this.stream.end();
  }

  /** The first message names the session; later ones say nothing. */
  private first(message: ClientWatchMessage): void {
    if (this.sessionId !== undefined || this.ended) return;
    this.sessionId = message.sessionId;
    const mismatch = this.parts.checks.version(message);
    if (mismatch !== undefined) return this.refuse('PROTOCOL_MISMATCH', mismatch, '');
    const error = this.missing(message.sessionId);
    if (error !== undefined) return this.refuse('SESSION_INVALIDATED', error, message.sessionId);
    if (!this.parts.book.add(message.sessionId, this)) return this.overLimit();
    this.deliver(this.parts.book.event('WATCH_ESTABLISHED', '', '', message.sessionId));
  }

  private missing(sessionId: string): ErrorStatus | undefined {
    const { host, errors, checks, isDraining } = this.parts;
    if (isDraining()) return errors.refused({ why: 'draining' }, 'the watch');
    const tooLong = checks.length('session_id', sessionId, MAX_ID_BYTES);
    if (tooLong !== undefined) return errors.of('SESSION_NOT_FOUND', tooLong.message);
    // Ends what is over, so that a session of which only the timer is late is not found any more.
    host.apply({ type: 'wake' });
    if (host.sessions.has(sessionId)) return undefined;
    const answer = host.apply({ type: 'renew-session', sessionId });
    return answer.type === 'refused' ? errors.refused(answer.refusal, 'the watch') : undefined;
  }

  private refuse(
    type: 'PROTOCOL_MISMATCH' | 'SESSION_INVALIDATED',
    error: ErrorStatus,
    sessionId: string,
  ): void {
    this.code = error.code;
    this.parts.counters.add('stream_failures');
    this.deliver({ ...this.parts.book.event(type, '', error.message, sessionId), code: error.code });
    this.end();
  }

  private overLimit(): void {
    this.code = 'RESOURCE_EXHAUSTED';
    this.parts.counters.add('stream_failures');
    this.leave();
    this.stream.emit('error', {
      code: status.RESOURCE_EXHAUSTED,
      details: 'the limit on watches is reached',
    });
  }

  private leave(): void {
    this.ended = true;
    if (this.sessionId !== undefined) this.parts.book.remove(this.sessionId, this);
  }

  private report(): void {
    const { log, clock, calls } = this.parts;
    const call = calls.get(this.stream.metadata);
    const level = this.code === 'OK' ? 'debug' : 'info';
    if (call === undefined || !log.enabled(level)) return;
    log.write(level, 'grpc_stream_call', {
      method: call.method,
      code: this.code,
      outcome: this.code === 'OK' ? 'ok' : 'refused',
      duration_ms: Math.round(clock.monoMs() - call.startedMs),
      peer: call.peer,
      session: this.sessionId === undefined ? undefined : maskId(this.sessionId),
    });
  }
}
