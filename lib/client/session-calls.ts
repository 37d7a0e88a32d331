import type { LockKey } from '../core/index.js';
import type { LockResponse } from '../rpc/index.js';
import type { CallOutcome, LinkId } from '../session/index.js';
import type { LiveSession } from './live-session.js';
import type { Link } from './link.js';
import type { LockService } from './lock-service.js';
import type { SessionSlot } from './session-slot.js';

/** An acquire that was granted, as the server said it. */
export interface Granted {
  readonly kind: 'granted';
  readonly token: string;
  readonly fence: bigint;
  /** The session the server says it belongs to. */
  readonly sessionId: string;
  readonly link: LinkId;
}

/** A reply that contradicts the protocol: it may stand for a grant nobody can prove. */
export interface Nonsense {
  readonly kind: 'nonsense';
  readonly problem: string;
  readonly link: LinkId;
}

export type AttemptOutcome = Granted | Nonsense | Exclude<CallOutcome<never>, { kind: 'answered' }>;

export interface Attempt {
  readonly requestId: string;
  readonly key: LockKey;
  readonly timeoutMs: number;
  readonly callMs: number;
}

/** One acquire call on a session, over a link that is up. What its answer says about the session is acted on here. */
export async function attemptAcquire(
  service: LockService,
  slot: SessionSlot,
  session: LiveSession,
  link: Link,
  attempt: Attempt,
  interrupt: (wake: () => void) => () => void,
): Promise<AttemptOutcome> {
  const call = service.acquire(link, session, attempt, attempt.callMs);
  const forgetInterrupt = interrupt(call.cancel);
  const forgetOver = session.over.on(call.cancel);
  const outcome = await call.outcome;
  forgetInterrupt();
  forgetOver();
  if (outcome.kind !== 'answered') {
    slot.refused(session, outcome);
    return outcome;
  }
  slot.serverSeen(session, outcome.reply.serverId);
  return read(outcome.reply, outcome.link);
}

function read({ token, fence, sessionId }: LockResponse, link: LinkId): AttemptOutcome {
  if (token === '') return { kind: 'nonsense', problem: 'a grant without a token', link };
  if (fence < 1n) return { kind: 'nonsense', problem: `a grant with fence ${fence}`, link };
  return { kind: 'granted', token, fence, sessionId, link };
}
