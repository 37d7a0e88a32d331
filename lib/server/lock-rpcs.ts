import { type Clock, MAX_ID_BYTES } from '../core/index.js';
import type { Grant, LateAnswer } from '../engine/index.js';
import {
  durationFromWire,
  type ErrorStatus,
  type LockRequest,
  LockResponse,
  PROTOCOL_VERSION,
  type ReleaseRequest,
  ReleaseResponse,
} from '../rpc/index.js';
import type { Deliveries } from './deliveries.js';
import type { EngineHost } from './engine-host.js';
import type { OpenCall } from './open-call.js';
import { keyOf, type RequestChecks } from './request-checks.js';
import { ATTEMPT_KEEPS_PLACE_MS } from './server-limits.js';
import { lockText, type WireErrors } from './wire-errors.js';

export interface LockRpcParts {
  readonly host: EngineHost;
  readonly clock: Clock;
  readonly checks: RequestChecks;
  readonly errors: WireErrors;
  readonly deliveries: Deliveries;
}

/** Acquire and Release. */
export class LockRpcs {
  constructor(private readonly parts: LockRpcParts) {}

  acquire(request: LockRequest, respond: (answer: LockResponse) => void, call: OpenCall): void {
    const { checks, host, clock } = this.parts;
    const wrong = checks.envelope(request) ?? checks.lock(request);
    if (wrong !== undefined) return respond(LockResponse.create({ error: wrong }));
    if (call.closed) return;
    const callId = host.newCallId();
    call.onClose(() => host.detach(callId));
    const { timeoutMs, sessionId, requestId } = request;
    host.ask(
      {
        type: 'acquire',
        callId,
        sessionId,
        requestId,
        key: keyOf(request),
        waitUntilMs: timeoutMs > 0n ? clock.monoMs() + durationFromWire(timeoutMs) : Infinity,
        keepPlaceMs: ATTEMPT_KEEPS_PLACE_MS,
      },
      (answer) => this.answer(request, answer, respond, call),
    );
  }

  release(request: ReleaseRequest, respond: (answer: ReleaseResponse) => void): void {
    const error = this.releaseError(request);
    if (error !== undefined) return respond(ReleaseResponse.create({ error }));
    const { serverId } = this.parts.errors;
    respond(ReleaseResponse.create({ ok: true, serverId, protocolVersion: PROTOCOL_VERSION }));
  }

  private answer(
    request: LockRequest,
    answer: LateAnswer,
    respond: (answer: LockResponse) => void,
    call: OpenCall,
  ): void {
    if (answer.type === 'granted') {
      this.parts.deliveries.answering(answer.grant, call);
      return respond(this.granted(request, answer.grant));
    }
    const error = this.parts.errors.refused(answer.refusal, lockText(keyOf(request)));
    respond(LockResponse.create({ error }));
  }

  private granted(request: LockRequest, { token, fence, sessionId }: Grant): LockResponse {
    const { scope, p1, p2 } = request;
    const { serverId } = this.parts.errors;
    return { token, fence, scope, p1, p2, sessionId, serverId, protocolVersion: PROTOCOL_VERSION };
  }

  private releaseError(request: ReleaseRequest): ErrorStatus | undefined {
    const { checks, errors, host } = this.parts;
    const { sessionId, token, requestId } = request;
    const wrong =
      checks.envelope(request) ??
      checks.id('session_id', sessionId) ??
      checks.id('request_id', requestId) ??
      checks.length('token', token, MAX_ID_BYTES);
    if (wrong !== undefined) return wrong;
    const answer = host.apply({ type: 'release', sessionId, token, releaseId: requestId });
    if (answer.type === 'released') return undefined;
    if (answer.type === 'not-held')
      return errors.of('LOCK_NOT_FOUND', 'the session holds no lock with this token');
    return errors.refused(answer.refusal, 'the release');
  }
}
