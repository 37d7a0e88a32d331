import { pause, type DriverHost, type KeptLease } from '../core/index.js';
import { durationFromWire, PROTOCOL_VERSION, type SessionResponse } from '../rpc/index.js';
import {
  endByRefusal,
  NO_SESSION,
  PROTOCOL_END,
  stepSession,
  verdictOf,
  type CallOutcome,
  type Generation,
  type NoAnswer,
  type SessionEffect,
  type SessionEnd,
  type SessionInput,
  type SessionState,
} from '../session/index.js';
import { LiveSession } from './live-session.js';
import type { LockService } from './lock-service.js';

export interface SlotHost {
  readonly driverHost: DriverHost;
  /** Opens a session on the server. */
  readonly service: Pick<LockService, 'createSession'>;
  readonly idleSessionMs: number;
  /** A session is current: watch it. */
  opened(session: LiveSession): void;
  /** A server was met: at a new session, or by a mismatch. */
  metServer(serverId: string): void;
  /** The server speaks another protocol: no session of this client can go on (WK-10). */
  otherProtocol(): void;
  closeRemote(session: { readonly sessionId: string; readonly serverId: string }): void;
  background(work: Promise<unknown>): void;
}

const PAST_DEADLINE: SessionEnd = { reason: 'expired', code: 'LOCAL_TTL_EXPIRED', tellServer: true };

/** A session or why there is none. */
export type SessionOrNot = LiveSession | NoAnswer;

/** The sessions of one lease length: at most one at a time, opened once for all who wait, replaced when over. */
export class SessionSlot {
  private state: SessionState = NO_SESSION;
  private live: LiveSession | undefined = undefined;
  private creation: Promise<SessionOrNot> | undefined = undefined;

  constructor(
    private readonly leaseMs: number,
    private readonly host: SlotHost,
  ) {}

  /** The current session, if there is one. */
  get current(): LiveSession | undefined {
    return this.live;
  }

  /** The current session, or a new one; waits no longer than `timeoutMs` although the creation goes on. */
  async session(timeoutMs: number, interrupt: (wake: () => void) => () => void): Promise<SessionOrNot> {
    if (this.live?.usable === true) return this.live;
    // Its deadline has passed and no timer has run since: a blocked process wakes up (case B-014).
    if (this.live !== undefined) this.over(this.live, PAST_DEADLINE);
    this.feed({ type: 'wanted' });
    const { creation } = this;
    if (creation === undefined || this.state.phase !== 'creating') return unsent('the client is closed');
    const { clock } = this.host.driverHost;
    return Promise.race([
      creation,
      pause(clock, timeoutMs, (wake) => {
        void creation.then(wake);
        return interrupt(wake);
      }).then(() => late(timeoutMs)),
    ]);
  }

  /** Takes an input to the state machine; inputs of older generations change nothing. */
  feed(input: SessionInput): void {
    const { state, effects } = stepSession(this.state, input);
    this.state = state;
    for (const effect of effects) this.run(effect);
  }

  over(session: LiveSession, end: SessionEnd): void {
    this.feed({ type: 'over', generation: session.generation, end });
  }

  /** A call under this session was refused: some refusals end it. */
  refused(session: LiveSession, outcome: NoAnswer): void {
    if (outcome.kind !== 'refused') return;
    const end = endByRefusal(verdictOf(outcome), outcome.refusal, session.serverId);
    if (end === undefined) return;
    if (end.newServer !== undefined) this.host.metServer(end.newServer);
    if (end.reason === 'protocol-mismatch') this.host.otherProtocol();
    this.over(session, end);
  }

  /** A call under this session was answered by this server: it must be the session's own. */
  serverSeen(session: LiveSession, serverId: string): void {
    if (serverId !== '' && serverId !== session.serverId) this.host.metServer(serverId);
    this.feed({ type: 'server-seen', generation: session.generation, serverId });
  }

  private run(effect: SessionEffect): void {
    switch (effect.do) {
      case 'create':
        this.creation = this.create(effect.generation);
        this.host.background(this.creation);
        break;
      case 'end':
        this.endLive(effect.end);
        break;
      case 'retire':
        this.retireLive();
        break;
      case 'close-remote':
        this.host.closeRemote({ sessionId: effect.sessionId, serverId: '' });
        break;
      case 'adopt':
      case 'wake':
      // Those who wait hear of both from the creation's own promise.
    }
  }

  private endLive(end: SessionEnd): void {
    const { live } = this;
    this.live = undefined;
    if (live === undefined) return;
    const change =
      end.newServer === undefined ? undefined : { newServer: end.newServer, oldServer: end.oldServer ?? '' };
    // First the holders hear of it, then anybody else: the server must not be told before they are (I10).
    this.host.driverHost.endLease(live.lease, end.reason, end.code, change);
    live.end();
  }

  private retireLive(): void {
    const { live } = this;
    this.live = undefined;
    live?.lease.close();
    live?.end();
  }

  /** Detached from those who wait, with a time of its own (WK-42). Never rejects. */
  private async create(generation: Generation): Promise<SessionOrNot> {
    let made: SessionOrNot;
    try {
      const outcome = await this.host.service.createSession(this.leaseMs);
      made = outcome.kind === 'answered' ? this.adopt(outcome, generation) : outcome;
    } catch (cause) {
      made = { kind: 'unsent', cause };
    }
    if (isSession(made)) return made;
    if (verdictOf(made) === 'other-protocol') this.host.otherProtocol();
    this.feed({ type: 'not-created', generation });
    return made;
  }

  private adopt(
    outcome: Extract<CallOutcome<SessionResponse>, { kind: 'answered' }>,
    generation: Generation,
  ): SessionOrNot {
    const { reply, sentAt } = outcome;
    const problem = this.problemWith(reply);
    if (problem !== undefined) {
      if (reply.sessionId !== '') this.host.closeRemote({ sessionId: reply.sessionId, serverId: '' });
      return refusal(outcome, ...problem);
    }
    this.host.metServer(reply.serverId);
    this.feed({ type: 'created', generation, sessionId: reply.sessionId, serverId: reply.serverId });
    if (this.state.phase !== 'active' || this.state.generation !== generation)
      return unsent('the client is closed');
    const grantedMs = durationFromWire(reply.leaseMs);
    const lease = this.host.driverHost.openLease({
      id: reply.sessionId,
      askedMs: this.leaseMs,
      grantedMs,
      sentAt,
      ...this.rhythm(grantedMs),
    });
    return this.bringToLife(lease, generation, reply);
  }

  private bringToLife(lease: KeptLease, generation: Generation, reply: SessionResponse): SessionOrNot {
    const { driverHost, idleSessionMs } = this.host;
    const session = new LiveSession(
      reply.sessionId,
      reply.serverId,
      generation,
      lease,
      driverHost.clock,
      idleSessionMs,
      () => this.feed({ type: 'idle', generation }),
    );
    this.live = session;
    if (!lease.alive) {
      this.feed({ type: 'idle', generation });
      return unsent('the session was opened too late to be of use');
    }
    this.host.opened(session);
    return session;
  }

  private problemWith(reply: SessionResponse): readonly [code: string, message: string] | undefined {
    if (reply.protocolVersion !== PROTOCOL_VERSION) {
      return [PROTOCOL_END.code, `the server answered in protocol version '${reply.protocolVersion}'`];
    }
    if (reply.sessionId === '') return ['EMPTY_SESSION_ID', 'the server opened a session without an id'];
    const grantedMs = durationFromWire(reply.leaseMs);
    const marginMs = this.host.driverHost.settings.marginMs(Math.min(grantedMs, this.leaseMs));
    if (grantedMs > marginMs) return undefined;
    return [
      'LEASE_TOO_SHORT',
      `the server grants a lease of ${grantedMs} ms, which the margin of ${marginMs} ms uses up`,
    ];
  }

  /** The configured rhythm belongs to the lease asked for; a shorter one granted needs its own (WK-08). */
  private rhythm(grantedMs: number): { readonly renewEveryMs?: number } {
    const { renewEveryMs, ttlMs } = this.host.driverHost.settings;
    if (renewEveryMs === undefined || this.leaseMs < ttlMs) return {};
    return {
      renewEveryMs:
        grantedMs < this.leaseMs
          ? Math.max(1, Math.min(renewEveryMs, Math.floor(grantedMs / 3)))
          : renewEveryMs,
    };
  }
}

/** Whether there is a session. */
export function isSession(answer: SessionOrNot): answer is LiveSession {
  return !('kind' in answer);
}

function unsent(problem: string): NoAnswer {
  return { kind: 'unsent', cause: new Error(problem) };
}

function late(timeoutMs: number): NoAnswer {
  return { kind: 'unsent', late: true, cause: new Error(`no session within ${Math.ceil(timeoutMs)} ms`) };
}

function refusal(
  { link, sentAt, reply }: Extract<CallOutcome<SessionResponse>, { kind: 'answered' }>,
  code: string,
  message: string,
): NoAnswer {
  return { kind: 'refused', link, sentAt, refusal: { code, message, status: 400, serverId: reply.serverId } };
}
