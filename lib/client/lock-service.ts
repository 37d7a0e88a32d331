import type { Metadata, MethodDefinition } from '@grpc/grpc-js';
import type { Clock, LockKey } from '../core/index.js';
import {
  durationToWire,
  lockService,
  PROTOCOL_VERSION,
  SCOPE_L1,
  SCOPE_L2,
  WIRE_STATUS,
  type CloseSessionResponse,
  type ListHoldersResponse,
  type LockResponse,
  type ReleaseResponse,
  type RevokeResponse,
  type SessionResponse,
} from '../rpc/index.js';
import type { CallOutcome } from '../session/index.js';
import type { Connection } from './connection.js';
import type { Link } from './link.js';
import { sendUnary, type PendingCall, type WireReply } from './unary-call.js';
import { openWatch, type WatchListener, type WatchStream } from './watch-stream.js';

const MIN_CREATE_MS = 250;
const MAX_CREATE_MS = 2_000;

/** A session as calls name it: its server is named too, so that another one refuses instead of guessing. */
export interface SessionRef {
  readonly sessionId: string;
  readonly serverId: string;
}

/** One acquire as it travels. */
export interface AcquireCommand {
  readonly requestId: string;
  readonly key: LockKey;
  /** 0: no bound. */
  readonly timeoutMs: number;
}

export interface LockServiceParts {
  readonly clock: Clock;
  readonly connection: Connection;
  readonly metadata: Metadata;
  readonly connectTimeoutMs: number;
}

/** What an operator ends. */
export interface RevokeCommand {
  readonly key: LockKey;
  /** 0n: whichever grant there is. */
  readonly fence: bigint;
  readonly below: boolean;
  readonly client: string;
}

/** The unary RPCs, each with a finite deadline, none of which ever rejects. */
export class LockService {
  constructor(private readonly parts: LockServiceParts) {}

  /** No expected server: it would only refuse the first session after a restart (WK-33). The version is left to the caller. */
  async createSession(leaseMs: number): Promise<CallOutcome<SessionResponse>> {
    const link = await this.link(this.parts.connectTimeoutMs);
    if ('kind' in link) return link;
    const request = {
      leaseMs: durationToWire(leaseMs),
      protocolVersion: PROTOCOL_VERSION,
      expectedServer: '',
    };
    // An answer later than the lease would be of no use.
    const timeoutMs = Math.min(MAX_CREATE_MS, Math.max(MIN_CREATE_MS, leaseMs));
    return sendUnary(this.parts, link, lockService.CreateSession, request, timeoutMs).outcome;
  }

  async heartbeat(session: SessionRef, timeoutMs: number): Promise<CallOutcome<SessionResponse>> {
    return checked(await this.call(lockService.Heartbeat, named(session), timeoutMs));
  }

  /** On a link that is up: which one matters when the call ends in doubt. */
  acquire(
    link: Link,
    session: SessionRef,
    command: AcquireCommand,
    timeoutMs: number,
  ): PendingCall<LockResponse> {
    const [p1, p2] = command.key;
    const request = {
      ...named(session),
      scope: p2 === undefined ? SCOPE_L1 : SCOPE_L2,
      p1,
      p2: p2 ?? '',
      timeoutMs: durationToWire(command.timeoutMs),
      requestId: command.requestId,
    };
    const call = sendUnary(this.parts, link, lockService.Acquire, request, timeoutMs);
    return { outcome: call.outcome.then(checked), cancel: call.cancel };
  }

  async release(
    session: SessionRef,
    token: string,
    releaseId: string,
    timeoutMs: number,
  ): Promise<CallOutcome<ReleaseResponse>> {
    const request = { ...named(session), token, requestId: releaseId };
    return checked(await this.call(lockService.Release, request, timeoutMs));
  }

  closeSession(session: SessionRef, timeoutMs: number): Promise<CallOutcome<CloseSessionResponse>> {
    return this.call(lockService.CloseSession, named(session), timeoutMs);
  }

  /** On a link that is up, once: a copy of it without a fence could end the lock of whoever is next. */
  async revoke(
    link: Link,
    { key: [p1, p2], ...asked }: RevokeCommand,
    timeoutMs: number,
  ): Promise<CallOutcome<RevokeResponse>> {
    const scope = p2 === undefined ? SCOPE_L1 : SCOPE_L2;
    const request = {
      ...asked,
      scope,
      p1,
      p2: p2 ?? '',
      protocolVersion: PROTOCOL_VERSION,
      expectedServer: '',
    };
    return checked(await sendUnary(this.parts, link, lockService.Revoke, request, timeoutMs).outcome);
  }

  async listHolders(
    afterFence: bigint,
    limit: number,
    timeoutMs: number,
  ): Promise<CallOutcome<ListHoldersResponse>> {
    const request = { afterFence, limit, protocolVersion: PROTOCOL_VERSION, expectedServer: '' };
    return checked(await this.call(lockService.ListHolders, request, timeoutMs));
  }

  /** Opens a watch on a link that is up. */
  watch(link: Link, sessionId: string, listener: WatchListener): WatchStream {
    return openWatch(link, this.parts.metadata, sessionId, listener);
  }

  /** A link that is up, or why there is none; within the time given and that of one attempt to connect. */
  async link(timeoutMs: number): Promise<Link | { readonly kind: 'unsent'; readonly cause: unknown }> {
    try {
      const link = await this.parts.connection.ready(Math.min(timeoutMs, this.parts.connectTimeoutMs));
      // It may have broken between its readiness and this turn.
      return link.isOver ? { kind: 'unsent', cause: new Error('the connection broke') } : link;
    } catch (cause) {
      return { kind: 'unsent', cause };
    }
  }

  private async call<Q, R extends WireReply>(
    method: MethodDefinition<Q, R>,
    request: Q,
    timeoutMs: number,
  ): Promise<CallOutcome<R>> {
    const startedMs = this.parts.clock.monoMs();
    const link = await this.link(timeoutMs);
    if ('kind' in link) return link;
    const leftMs = timeoutMs - (this.parts.clock.monoMs() - startedMs);
    if (leftMs <= 0) return { kind: 'unsent', cause: new Error(`no time left for ${method.originalName}`) };
    return sendUnary(this.parts, link, method, request, leftMs).outcome;
  }
}

function named(session: SessionRef): { sessionId: string; protocolVersion: string; expectedServer: string } {
  return {
    sessionId: session.sessionId,
    protocolVersion: PROTOCOL_VERSION,
    expectedServer: session.serverId,
  };
}

/** A success in another protocol version is none (WK-27). */
function checked<R extends WireReply>(outcome: CallOutcome<R>): CallOutcome<R> {
  if (outcome.kind !== 'answered' || outcome.reply.protocolVersion === PROTOCOL_VERSION) return outcome;
  const { link, sentAt, reply } = outcome;
  return {
    kind: 'refused',
    link,
    sentAt,
    refusal: {
      code: 'PROTOCOL_MISMATCH',
      status: WIRE_STATUS.PROTOCOL_MISMATCH,
      message: `the server answered in protocol version '${reply.protocolVersion}'`,
      serverId: reply.serverId,
    },
  };
}
