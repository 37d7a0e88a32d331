import type { DefiniteRelease, LockErrorFacts } from '../../core/index.js';
import { releaseOperation, type ReleaseResult } from './operations.js';
import { backoffMs, pause } from './pause.js';
import type { RedisSession } from './redis-session.js';
import type { Sendings } from './sendings.js';

/** One asking of a release may take this long; then it is asked again. */
const ASK_MS = 2_000;
/** Asked for this much longer than what is given back can last in Redis, for the clocks of both sides. */
const EXTRA_MS = 1_000;

/** What is given or taken back. */
export interface Returned {
  readonly tree: string;
  readonly l2: string;
  readonly requestId: string;
  readonly token: string;
  /** The longest it can last in Redis from now on by itself. */
  readonly ttlMs: number;
  readonly sendings: Sendings;
}

/**
 * Gives a lock back, asking again until Redis has answered or the lock has ended by itself. Never rejects.
 * A compare-and-delete of the token: however often and late it is executed, it touches nobody else's lock.
 */
export async function release(
  session: RedisSession,
  returned: Returned,
  facts: LockErrorFacts,
  keepMs = 0,
): Promise<DefiniteRelease> {
  const { clock, random } = session.host;
  const startMs = clock.monoMs();
  const giveUpMs = startMs + returned.ttlMs + EXTRA_MS;
  const operation = releaseOperation({
    ...returned,
    id: returned.requestId,
    facts,
    keepMs: () => Math.max(0, Math.ceil(keepMs - (clock.monoMs() - startMs))),
    goneUntilMs: ({ node }) =>
      returned.sendings.tombstoneUntilMs(session.calls.link, session.calls.time, node),
  });
  let mayBeDone = false;
  for (let failures = 0; ; failures++) {
    const nowMs = clock.monoMs();
    const answer = await session.calls.ask(operation, Math.min(nowMs + ASK_MS, giveUpMs));
    if (answer.type === 'answered') return outcomeOf(answer.value, mayBeDone);
    mayBeDone ||= answer.type === 'unanswered';
    if (answer.type === 'refused' && !answer.passing) {
      session.host.warn('REDIS_RELEASE_REFUSED', answer.error.message, answer.error);
      return 'lost';
    }
    const isClosed = session.calls.link.state === 'closed' || session.background.isStopped;
    if (clock.monoMs() >= giveUpMs || isClosed) return 'lost';
    await pause(clock, backoffMs(failures, random));
  }
}

/** Takes a request back in the background, whatever has become of it. */
export function withdraw(session: RedisSession, taken: Returned & { readonly facts: LockErrorFacts }): void {
  session.background.run(() => release(session, taken, taken.facts));
}

/**
 * Not held by this token any more: lost, unless an earlier asking was not answered. Then that one freed it, since the
 * holder had stopped using the lock before its deadline.
 */
function outcomeOf(result: ReleaseResult, mayBeDone: boolean): DefiniteRelease {
  return result === 'released' || mayBeDone ? 'released' : 'lost';
}
