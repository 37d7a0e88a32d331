import type { Refusal } from './call-outcome.js';
import type { SessionEnd } from './session-state.js';
import type { Verdict } from './verdict.js';

/** The word in a SESSION_INVALIDATED message when the server is going down and still keeps the session. */
const RESTARTING = 'server_restarting';

/** The end that a refusal of any call means for the session it was sent under; undefined if it means none. */
export function endByRefusal(verdict: Verdict, refusal: Refusal, oldServer: string): SessionEnd | undefined {
  switch (verdict) {
    case 'session-over':
      return { reason: 'session-gone', code: refusal.code, tellServer: false };
    case 'other-server':
      return {
        reason: 'server-changed',
        code: refusal.code,
        tellServer: false,
        oldServer,
        newServer: refusal.serverId,
      };
    case 'other-protocol':
      return PROTOCOL_END;
    default:
      return undefined;
  }
}

/** The end that SESSION_INVALIDATED on the watch means. */
export function endByWatch(code: string, message: string): SessionEnd {
  // A draining server keeps the session until the client gives it up: closing it is what it waits for (WK-09).
  const tellServer = code === 'SERVER_DRAINING' || message.includes(RESTARTING);
  return { reason: 'session-gone', code: code === '' ? 'SESSION_GONE' : code, tellServer };
}

/** Peers that speak another protocol: the session is refused, and the server told not to keep it (WK-10, WK-27). */
export const PROTOCOL_END: SessionEnd = {
  reason: 'protocol-mismatch',
  code: 'PROTOCOL_MISMATCH',
  tellServer: true,
};

/** A wait ended in doubt and no probe could settle it: the session goes, and with it whatever was granted (WK-01). */
export const UNCERTAIN_END: SessionEnd = {
  reason: 'session-gone',
  code: 'LOCK_UNCERTAIN_RESULT',
  tellServer: true,
};

/** Strict mode: the watch could not be kept. */
export const WATCH_LOST_END: SessionEnd = {
  reason: 'session-gone',
  code: 'WATCH_STREAM_DISCONNECTED',
  tellServer: true,
};
