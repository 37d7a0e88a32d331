import type {
  CancelAnswer,
  CancelCall,
  CancelRequest,
  Release,
  ReleaseAnswer,
  ReleaseGrant,
} from './commands.js';
import type { EngineState } from './engine-state.js';
import { Request } from './request.js';

const RELEASED: ReleaseAnswer = Object.freeze({ type: 'released' });
const NOT_HELD: ReleaseAnswer = Object.freeze({ type: 'not-held' });

/** A holder gives back. Only its own token can, and a repeat under the same release id is answered alike. */
export function release(state: EngineState, command: Release): ReleaseAnswer {
  const { nowMs } = state;
  const session = state.sessions.get(command.sessionId);
  if (session === undefined) {
    return { type: 'refused', refusal: state.sessions.missing(command.sessionId, nowMs) };
  }
  const { releases } = session.requests;
  const known = releases.get(command.releaseId, nowMs);
  if (known !== undefined) {
    return known === command.token ? RELEASED : { type: 'refused', refusal: { why: 'conflict' } };
  }
  const request = state.tokens.get(command.token);
  if (request === undefined || request.session !== session) return NOT_HELD;
  releases.remember(command.releaseId, command.token, nowMs);
  state.endGrant(request, command.keepMs);
  return RELEASED;
}

/** A holder in a local session gives back what it was answered; once it has ended, however that was, nothing is held. */
export function releaseGrant(state: EngineState, { grant, keepMs }: ReleaseGrant): ReleaseAnswer {
  if (!(grant instanceof Request) || grant.stage !== 'held' || grant.kept) return NOT_HELD;
  state.endGrant(grant, keepMs);
  return RELEASED;
}

/** A call that waits in a local session is taken back; one that was answered has a grant that is given back by itself. */
export function cancelCall(state: EngineState, { callId }: CancelCall): CancelAnswer {
  const request = state.calls.requestOf(callId);
  if (request === undefined) return { type: 'unknown-request' };
  state.calls.delete(callId);
  request.calls = undefined;
  state.leaveLine(request, { why: 'cancelled' });
  request.session.requests.live.delete(request);
  return { type: 'cancelled' };
}

/** The client takes a request back, whatever has become of it; the answer is the same however often it asks. */
export function cancelRequest(state: EngineState, command: CancelRequest): CancelAnswer {
  const session = state.sessions.get(command.sessionId);
  if (session === undefined) return { type: 'unknown-request' };
  const { requests } = session;
  const request = requests.live.get(command.requestId);
  if (request !== undefined && request.stage === 'held') {
    state.endGrant(request);
    return { type: 'was-granted-now-released' };
  }
  if (request !== undefined) {
    state.leaveLine(request, { why: 'cancelled' });
    requests.finish(request, 'cancelled', state.nowMs);
    return { type: 'cancelled' };
  }
  const known = requests.finished.get(command.requestId, state.nowMs);
  // Never seen, or refused: remembered all the same, since a late copy of it may still be under way.
  if (known === undefined) requests.finished.remember(command.requestId, 'unknown-request', state.nowMs);
  return { type: known ?? 'unknown-request' };
}
