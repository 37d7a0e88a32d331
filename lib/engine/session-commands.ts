import type { CloseSession, OpenSession, RenewSession, SessionAnswer, SessionEndReason } from './commands.js';
import type { EngineState } from './engine-state.js';
import type { Session } from './session.js';

export function openSession(state: EngineState, command: OpenSession): SessionAnswer {
  if (state.draining) return { type: 'refused', refusal: { why: 'draining' } };
  if (state.sessions.size >= state.options.maxSessions) {
    return { type: 'refused', refusal: { why: 'limit', limit: 'sessions' } };
  }
  const session = state.sessions.open(command, state.nowMs);
  if (command.exactlyOnce === true) session.forget();
  return describe(session);
}

export function renewSession(state: EngineState, command: RenewSession): SessionAnswer {
  const session = state.sessions.get(command.sessionId);
  if (session === undefined) return missing(state, command.sessionId);
  state.sessions.renew(session, state.nowMs);
  return describe(session);
}

export function closeSession(state: EngineState, command: CloseSession): SessionAnswer {
  const session = state.sessions.get(command.sessionId);
  if (session === undefined) return missing(state, command.sessionId);
  endSessions(state, [session], command.reason);
  return { type: 'session-ended' };
}

/**
 * Ends sessions: first their waiters are refused, so that none of the ending is granted what another of them frees;
 * then the ends are announced; then their keys are free. What is freed is granted when the table opens again.
 */
export function endSessions(
  state: EngineState,
  sessions: readonly Session[],
  reason: SessionEndReason,
): void {
  state.table.close();
  for (const session of sessions) refuseWaiters(state, session, reason);
  for (const session of sessions) {
    state.sessions.end(session, reason, state.nowMs);
    state.tell({ type: 'session-ended', sessionId: session.id, reason });
  }
  for (const session of sessions) freeKeys(state, session);
}

function refuseWaiters(state: EngineState, session: Session, reason: SessionEndReason): void {
  for (const request of session.requests.live.values()) {
    if (request.stage === 'held') continue;
    state.leaveLine(request, { why: 'session-gone', reason });
    session.requests.live.delete(request);
  }
}

function freeKeys(state: EngineState, session: Session): void {
  for (const request of session.requests.live.values()) state.endGrant(request);
  if (session.keptKeys > 0) session.forget();
}

function describe(session: Session): SessionAnswer {
  return { type: 'session', sessionId: session.id, leaseMs: session.leaseMs, expiresAtMs: session.dueMs };
}

function missing(state: EngineState, sessionId: string): SessionAnswer {
  return { type: 'refused', refusal: state.sessions.missing(sessionId, state.nowMs) };
}
