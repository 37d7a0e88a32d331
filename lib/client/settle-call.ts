import { pause, msUntil, type LockKey } from '../core/index.js';
import {
  ANSWER_GRACE_MS,
  backoffMs,
  RETRY_BACKOFF,
  Settlement,
  UNCERTAIN_END,
  verdictOf,
  type Doubts,
} from '../session/index.js';
import type { LiveSession } from './live-session.js';
import { releaseToken, type CallTools } from './release-call.js';
import { attemptAcquire, type AttemptOutcome } from './session-calls.js';
import type { SessionSlot } from './session-slot.js';

/** A probe asks for no wait; 0 would ask for an endless one. */
const PROBE_WAIT_MS = 1;
/** Of the time the lease has left: what remains is for giving the session up before the lease ends. */
const SETTLING_SHARE = 0.9;

/** A request whose effect is unknown. */
export interface InDoubt {
  readonly requestId: string;
  readonly key: LockKey;
  readonly doubts: Doubts;
}

/**
 * Finds out what became of a wait that ended in doubt, so that it leaves no lock behind that nobody owns. True once that
 * is sure; if it cannot be in time, the session is given up, and with it everything granted on it (WK-01).
 */
export async function settleDoubt(
  tools: CallTools,
  slot: SessionSlot,
  session: LiveSession,
  request: InDoubt,
): Promise<void> {
  const { clock } = tools;
  const settlement = new Settlement(request.doubts);
  const endMs = clock.monoMs() + msUntil(session.lease.deadline, clock.now()) * SETTLING_SHARE;
  const done = session.use();
  try {
    while (settlement.next.do !== 'done' && !session.over.fired) {
      await rest(tools, session, settlement, endMs);
      if (session.over.fired) return;
      if (clock.monoMs() >= endMs) return slot.over(session, UNCERTAIN_END);
      await take(tools, slot, session, request, settlement, endMs);
    }
  } finally {
    done();
  }
}

/** The pause before a step: what the step asks for, and more after failures. */
async function rest(
  { clock, random }: CallTools,
  session: LiveSession,
  { next, failures }: Settlement,
  endMs: number,
): Promise<void> {
  const afterMs = next.do === 'tombstone' ? next.afterMs : 0;
  const pauseMs = failures === 0 ? 0 : backoffMs(RETRY_BACKOFF, failures, random.fraction());
  const restMs = Math.min(Math.max(afterMs, pauseMs), Math.max(0, endMs - clock.monoMs()));
  if (restMs > 0) await pause(clock, restMs, (wake) => session.over.on(wake));
}

async function take(
  tools: CallTools,
  slot: SessionSlot,
  session: LiveSession,
  request: InDoubt,
  settlement: Settlement,
  endMs: number,
): Promise<void> {
  const what = settlement.next.do === 'tombstone' ? 'tombstone' : 'probe';
  const outcome = await ask(tools, slot, session, request, what, endMs - tools.clock.monoMs());
  if (outcome.kind === 'granted') {
    settlement.granted();
    await releaseToken(tools, slot, session, outcome.token);
  } else {
    settlement.ended(outcome.kind === 'nonsense' ? 'unresolved' : verdictOf(outcome), linkOf(outcome));
  }
}

async function ask(
  tools: CallTools,
  slot: SessionSlot,
  session: LiveSession,
  request: InDoubt,
  what: 'probe' | 'tombstone',
  leftMs: number,
): Promise<AttemptOutcome> {
  const link = await tools.service.link(leftMs);
  if ('kind' in link) return link;
  // A key of 128 unpredictable bits: always free, wanted by nobody. The same each time, or a repeat of one whose answer
  // was lost would not find its own grant, and that would stay as long as the session.
  const key: LockKey = what === 'probe' ? request.key : [`klock-tombstone/${request.requestId}`];
  const callMs = Math.min(PROBE_WAIT_MS + ANSWER_GRACE_MS, Math.max(1, leftMs));
  const attempt = { requestId: request.requestId, key, timeoutMs: PROBE_WAIT_MS, callMs };
  return attemptAcquire(tools.service, slot, session, link, attempt, () => () => undefined);
}

function linkOf(outcome: AttemptOutcome): number | undefined {
  return outcome.kind === 'unsent' ? undefined : outcome.link;
}
