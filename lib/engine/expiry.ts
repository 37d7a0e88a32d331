import { endWait } from './acquire.js';
import type { EngineState } from './engine-state.js';
import type { Request } from './request.js';
import { endSessions } from './session-commands.js';

/**
 * Ends whatever is over by now. Runs before every command, so that no operation meets a session, wait or key that
 * only a late timer keeps alive. The table stays closed meanwhile: who is over is never granted what another frees.
 */
export function expireDue(state: EngineState): void {
  const { nowMs } = state;
  if (nowMs >= state.sessions.nextMs || nowMs >= state.deadlines.nextMs) expire(state);
}

function expire(state: EngineState): void {
  const { nowMs, sessions, deadlines } = state;
  state.table.close();
  const ended = sessions.takeDue(nowMs);
  if (ended.length > 0) endSessions(state, ended, 'lease_expired');
  for (let due = deadlines.takeDue(nowMs); due !== undefined; due = deadlines.takeDue(nowMs)) {
    expireRequest(state, due);
  }
}

function expireRequest(state: EngineState, request: Request): void {
  if (request.kept) {
    state.endKept(request);
  } else if (request.stage === 'out') {
    state.detached--;
    request.session.requests.live.delete(request);
  } else {
    endWait(state, request);
  }
}
