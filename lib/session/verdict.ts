import type { NoAnswer, Refusal, TransportStatus } from './call-outcome.js';

/**
 * What an answer other than success means to the client (behaviour.md 1.7 with WK-01, WK-02, WK-41).
 * Only `unresolved` leaves the question open whether the request took effect.
 */
export type Verdict =
  /** LOCK_TIMEOUT: the key was busy until the attempt's wait ended. */
  | 'busy'
  /** SESSION_GONE, SESSION_NOT_FOUND: nothing of this session is held any more. */
  | 'session-over'
  /** SERVER_INSTANCE_MISMATCH: the session belonged to another server process. */
  | 'other-server'
  | 'other-protocol'
  /** IDEMPOTENCY_CONFLICT: the request id is used up. */
  | 'conflict'
  /** LOCK_NOT_FOUND: the token is not held by this session. */
  | 'not-held'
  /** Refused for now, without effect. */
  | 'passing'
  /** Refused for good, without effect. */
  | 'final'
  /** The request may have taken effect, now or later. */
  | 'unresolved'
  /** The request never left. */
  | 'unsent';

const BY_CODE: Readonly<Record<string, Verdict>> = {
  LOCK_TIMEOUT: 'busy',
  SESSION_GONE: 'session-over',
  SESSION_NOT_FOUND: 'session-over',
  SERVER_INSTANCE_MISMATCH: 'other-server',
  PROTOCOL_MISMATCH: 'other-protocol',
  IDEMPOTENCY_CONFLICT: 'conflict',
  LOCK_NOT_FOUND: 'not-held',
};

const BY_STATUS: Readonly<Record<TransportStatus, Verdict>> = {
  // Answered by what stands before the handlers: the request had no effect (WK-02).
  RESOURCE_EXHAUSTED: 'passing',
  UNAUTHENTICATED: 'final',
  PERMISSION_DENIED: 'final',
  INVALID_ARGUMENT: 'final',
  NOT_FOUND: 'final',
  UNIMPLEMENTED: 'final',
  // Made by the transport or a proxy, before or after the server acted: nobody knows (WK-41).
  UNAVAILABLE: 'unresolved',
  DEADLINE_EXCEEDED: 'unresolved',
  CANCELLED: 'unresolved',
  OTHER: 'unresolved',
};

/** What an outcome other than success means. */
export function verdictOf(outcome: NoAnswer): Verdict {
  switch (outcome.kind) {
    case 'unsent':
      return 'unsent';
    case 'failed':
      return BY_STATUS[outcome.status];
    case 'refused':
      return verdictOfRefusal(outcome.refusal);
  }
}

function verdictOfRefusal(refusal: Refusal): Verdict {
  const known = Object.hasOwn(BY_CODE, refusal.code) ? BY_CODE[refusal.code] : undefined;
  if (known !== undefined) return known;
  if (refusal.status === 503) return 'passing';
  // A server that failed inside (INTERNAL) may have failed after it granted.
  return refusal.status >= 500 ? 'unresolved' : 'final';
}

/** Whether asking again, perhaps on a new session, may succeed. */
export function mayAskAgain(verdict: Verdict): boolean {
  return (
    verdict !== 'final' && verdict !== 'other-protocol' && verdict !== 'conflict' && verdict !== 'not-held'
  );
}

/** Whether a repeat of the same release may still be needed. */
export function mayReleaseAgain(verdict: Verdict): boolean {
  return verdict === 'passing' || verdict === 'unresolved' || verdict === 'unsent' || verdict === 'final';
}
