import { type Clock, MAX_ID_BYTES, type Random } from '../core/index.js';
import type { Answers, OpenSession } from '../engine/index.js';
import {
  type CloseSessionRequest,
  CloseSessionResponse,
  type CreateSessionRequest,
  durationFromWire,
  durationToWire,
  type ErrorStatus,
  type HeartbeatRequest,
  PROTOCOL_VERSION,
  SessionResponse,
} from '../rpc/index.js';
import type { EngineHost } from './engine-host.js';
import { rfc3339 } from './expires-at.js';
import { newSessionId } from './identity.js';
import type { OpenCall } from './open-call.js';
import type { RequestChecks } from './request-checks.js';
import type { ServerSettings } from './server-options.js';
import { causeText, type ServerLog } from './server-log.js';
import type { WireErrors } from './wire-errors.js';

/** What knows which leases survive a crash in memory of the next server. */
export interface LeaseCover {
  covers(leaseMs: number): boolean;
  coverLease(leaseMs: number): Promise<void>;
}

export interface SessionRpcParts {
  readonly host: EngineHost;
  readonly settings: Pick<ServerSettings, 'defaultLeaseMs' | 'minLeaseMs' | 'maxLeaseMs'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly checks: RequestChecks;
  readonly errors: WireErrors;
  readonly log: ServerLog;
  readonly cover: LeaseCover | undefined;
  /** Whether the server's end has been announced to its sessions. */
  readonly isDraining: () => boolean;
}

/** What a channel says of its session beyond the six calls. */
export type SessionFacts = Pick<OpenSession, 'client' | 'host' | 'exactlyOnce'>;

/** CreateSession, Heartbeat and CloseSession. */
export class SessionRpcs {
  /** The longest lease given so far. */
  longestLeaseMs = 0;

  constructor(private readonly parts: SessionRpcParts) {}

  create(
    request: CreateSessionRequest,
    respond: (answer: SessionResponse) => void,
    call: OpenCall,
    facts: SessionFacts = { host: call.peer },
  ): void {
    const { checks, cover } = this.parts;
    const wrong = checks.envelope(request);
    if (wrong !== undefined) return respond(SessionResponse.create({ error: wrong }));
    const leaseMs = this.leaseFor(durationFromWire(request.leaseMs));
    if (leaseMs <= 0) return respond(SessionResponse.create({ error: this.noLease() }));
    if (cover === undefined || cover.covers(leaseMs)) return this.open(leaseMs, respond, facts);
    void this.openCovered(cover, leaseMs, respond, call, facts);
  }

  heartbeat(request: HeartbeatRequest, respond: (answer: SessionResponse) => void): void {
    const { checks, host, isDraining } = this.parts;
    const { sessionId } = request;
    const wrong = checks.envelope(request) ?? checks.length('session_id', sessionId, MAX_ID_BYTES);
    if (wrong !== undefined) return respond(SessionResponse.create({ error: wrong }));
    // Its end was announced: the lease may run out, but is not renewed any more.
    if (isDraining() && host.sessions.has(sessionId))
      return respond(SessionResponse.create({ error: this.restarting() }));
    respond(this.session(host.apply({ type: 'renew-session', sessionId })));
  }

  close(request: CloseSessionRequest, respond: (answer: CloseSessionResponse) => void): void {
    const { checks, host, errors } = this.parts;
    const { sessionId } = request;
    const wrong = checks.envelope(request) ?? checks.length('session_id', sessionId, MAX_ID_BYTES);
    if (wrong !== undefined) return respond(CloseSessionResponse.create({ error: wrong }));
    const answer = host.apply({ type: 'close-session', sessionId, reason: 'client_close' });
    const closed = answer.type === 'session-ended';
    const { serverId } = errors;
    const facts = { closed, serverId, protocolVersion: PROTOCOL_VERSION };
    // Clients take this code for a success, whether the session has ended or never was.
    respond(closed ? facts : { ...facts, error: errors.of('SESSION_NOT_FOUND', 'no such session') });
  }

  /** 0 where none was asked for and there is no default; else within the bounds. */
  private leaseFor(wantedMs: number): number {
    const { defaultLeaseMs, minLeaseMs, maxLeaseMs } = this.parts.settings;
    const leaseMs = wantedMs > 0 ? wantedMs : defaultLeaseMs;
    if (leaseMs <= 0) return 0;
    return Math.max(minLeaseMs, maxLeaseMs > 0 ? Math.min(leaseMs, maxLeaseMs) : leaseMs);
  }

  /** The next server must know how long to wait before this one gives such a lease. */
  private async openCovered(
    cover: LeaseCover,
    leaseMs: number,
    respond: (answer: SessionResponse) => void,
    call: OpenCall,
    facts: SessionFacts,
  ): Promise<void> {
    try {
      await cover.coverLease(leaseMs);
    } catch (cause) {
      this.parts.log.write('error', 'state_write_failed', { cause: causeText(cause) });
      const error = this.parts.errors.of(
        'STORAGE_UNAVAILABLE',
        'the lease cannot be made durable at the moment',
      );
      return respond(SessionResponse.create({ error }));
    }
    if (!call.closed) this.open(leaseMs, respond, facts);
  }

  private open(leaseMs: number, respond: (answer: SessionResponse) => void, facts: SessionFacts): void {
    const { host, random } = this.parts;
    const answer = host.apply({ type: 'open-session', sessionId: newSessionId(random), leaseMs, ...facts });
    if (answer.type === 'session') this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs);
    respond(this.session(answer));
  }

  private session(answer: Answers['open-session']): SessionResponse {
    const { clock, errors } = this.parts;
    if (answer.type === 'refused')
      return SessionResponse.create({ error: errors.refused(answer.refusal, 'the session') });
    if (answer.type === 'session-ended') throw new Error('opening or renewing a session ended it');
    return {
      sessionId: answer.sessionId,
      leaseMs: durationToWire(answer.leaseMs),
      expiresAt: rfc3339(clock.wallMs() + answer.expiresAtMs - clock.monoMs()),
      serverId: errors.serverId,
      protocolVersion: PROTOCOL_VERSION,
    };
  }

  private noLease(): ErrorStatus {
    return this.parts.errors.of('BAD_REQUEST', 'lease_ms must be positive: this server has no default lease');
  }

  private restarting(): ErrorStatus {
    return this.parts.errors.refused({ why: 'session-gone', reason: 'server_restarting' }, 'the session');
  }
}
