import { pause, type Clock, type DefiniteRelease, type Random } from '../core/index.js';
import { ReleaseAttempts, verdictOf } from '../session/index.js';
import type { LiveSession } from './live-session.js';
import type { LockService } from './lock-service.js';
import type { SessionSlot } from './session-slot.js';

/** One release call takes at most this long; the next one carries the same id. */
const RELEASE_CALL_MS = 2_000;
const MIN_RELEASE_CALL_MS = 50;

export interface CallTools {
  readonly clock: Clock;
  readonly random: Random;
  readonly service: LockService;
}

/**
 * Gives a token back: one id for life, again and again until the server has answered or the session is over (WK-12).
 * A session that is over took its locks with it: nothing is sent then (WK-44).
 */
export async function releaseToken(
  { clock, random, service }: CallTools,
  slot: SessionSlot,
  session: LiveSession,
  token: string,
): Promise<DefiniteRelease> {
  const releaseId = `rel_${random.id()}`;
  const attempts = new ReleaseAttempts();
  const done = session.use();
  try {
    while (session.usable) {
      const outcome = await service.release(session, token, releaseId, callMs(session));
      if (outcome.kind === 'answered') {
        slot.serverSeen(session, outcome.reply.serverId);
        return 'released';
      }
      const step = attempts.ended(verdictOf(outcome), random.fraction());
      slot.refused(session, outcome);
      if (step.next !== 'again') return step.next;
      await pause(clock, step.pauseMs, (wake) => session.over.on(wake));
    }
    return 'lost';
  } finally {
    done();
  }
}

/** Below what is left of the lease, so that a dead connection is noticed while another can still be tried (design D8). */
function callMs(session: LiveSession): number {
  return Math.max(MIN_RELEASE_CALL_MS, Math.min(RELEASE_CALL_MS, session.lease.ms / 3));
}
