import {
  isSameKey,
  type HolderReport,
  type LockErrorFacts,
  type LockKey,
  type RevokeOptions,
  type RevokeReport,
} from '../../core/index.js';
import { inspectKey } from './inspect-call.js';
import { treeName } from './key-names.js';
import { revokeQuestion } from './operations.js';
import type { RedisGrant } from './redis-grant.js';
import type { RedisSession } from './redis-session.js';
import { askUntilAnswered } from './token-calls.js';

/** Holders a report names. */
const MAX_NAMED = 100;
/** Holders found by one look at a key, and looks: a key with more below it is ended in several. */
const MAX_FOUND = 1_000;
const MAX_LOOKS = 100;

/**
 * Ends what is held of a key. Holders are looked up first and ended by their fences, so that asking again after an answer
 * was lost ends nobody else's lock. @throws LockUnavailableError, BackendStateError
 */
export async function revokeKey(
  session: RedisSession,
  key: LockKey,
  options: RevokeOptions,
  drop: (grant: RedisGrant) => void,
): Promise<RevokeReport> {
  const ended: HolderReport[] = [];
  let endedCount = 0;
  for (let look = 0; look < MAX_LOOKS; look++) {
    const { holders } = await inspectKey(session, key, MAX_FOUND);
    const meant = holders.filter((holder) => options.below === true || isSameKey(holder.key, key));
    const found = await Promise.all(
      meant.map((holder) => revokeOne(session, holder, options.fence ?? holder.fence)),
    );
    const gone = meant.filter((_, at) => found[at]);
    for (const holder of gone) endOwn(session, holder, drop);
    endedCount += gone.length;
    ended.push(...gone.slice(0, MAX_NAMED - ended.length));
    // Everything that was there is gone, or nothing of it is meant.
    if (meant.length < MAX_FOUND || gone.length === 0) break;
  }
  return { key, ended, endedCount };
}

/** Whether this ended it. */
async function revokeOne(session: RedisSession, holder: HolderReport, fence: bigint): Promise<boolean> {
  const { key } = holder;
  const facts: LockErrorFacts = { key, operation: 'revoke' };
  const tree = treeName(session.options.prefix, key[0]);
  const question = revokeQuestion(tree, key[1] ?? '', fence, facts);
  const { value, repeated } = await askUntilAnswered(session, question, key, 'revoke');
  // It stood there when this began: an earlier asking, whose answer was lost, has ended it, and the next may hold already.
  return value === 'revoked' || (repeated && fence === holder.fence);
}

/** One of this client: its handle says so at once. */
function endOwn(session: RedisSession, holder: HolderReport, drop: (grant: RedisGrant) => void): void {
  for (const grant of session.grants.values()) {
    if (grant.fence !== holder.fence || !isSameKey(grant.key, holder.key)) continue;
    session.host.endGrant(grant, 'revoked', 'REVOKED');
    drop(grant);
    return;
  }
}
