import type { KeptLease, RenewReply } from '../../core/index.js';
import type { Answer } from './answer.js';
import { renewQuestion, type RenewResult } from './operations.js';
import type { RedisGrant } from './redis-grant.js';
import type { RedisSession } from './redis-session.js';

/** Renews leases; those of one slot travel in one script call. Never rejects. */
export async function renewLeases(
  session: RedisSession,
  leases: readonly KeptLease[],
  timeoutMs: number,
): Promise<readonly RenewReply[]> {
  const deadlineMs = session.host.clock.monoMs() + timeoutMs;
  return await Promise.all(leases.map((lease) => renewLease(session, lease, deadlineMs)));
}

async function renewLease(session: RedisSession, lease: KeptLease, deadlineMs: number): Promise<RenewReply> {
  const grant = session.grants.get(lease.id);
  if (grant === undefined)
    return { outcome: 'failed', cause: new Error('the lock is not held through this driver') };
  return await askRenewal(session, grant, grant.ttlMs, 'most', deadlineMs);
}

/**
 * Gives a lock another length. A shorter one counts from now on for every renewal, whatever the answer: the front end
 * has taken the nearer deadline already (design D2).
 */
export async function extendGrant(
  session: RedisSession,
  grant: RedisGrant,
  ttlMs: number,
  timeoutMs: number,
): Promise<RenewReply> {
  const mode = ttlMs < grant.ttlMs ? 'exact' : 'most';
  if (mode === 'exact') grant.ttlMs = ttlMs;
  const reply = await askRenewal(session, grant, ttlMs, mode, session.host.clock.monoMs() + timeoutMs);
  if (reply.outcome === 'renewed') grant.ttlMs = ttlMs;
  return reply;
}

async function askRenewal(
  session: RedisSession,
  grant: RedisGrant,
  ttlMs: number,
  mode: 'most' | 'exact',
  deadlineMs: number,
): Promise<RenewReply> {
  const question = renewQuestion({
    tree: grant.tree,
    l2: grant.l2,
    token: grant.token,
    number: grant.nextRenewal(),
    ttlMs,
    mode,
    facts: { key: grant.key, operation: 'extend' },
    // Released or lost meanwhile: a renewal sent after that would only keep it alive (case B-019).
    isWanted: () => grant.lease.alive,
  });
  return readReply(session, grant, ttlMs, await session.calls.ask(question, deadlineMs));
}

function readReply(
  session: RedisSession,
  grant: RedisGrant,
  ttlMs: number,
  answer: Answer<RenewResult>,
): RenewReply {
  if (answer.type === 'refused') return { outcome: 'failed', cause: answer.error };
  if (answer.type !== 'answered') return { outcome: 'failed', cause: answer.cause };
  switch (answer.value.type) {
    case 'renewed':
      return { outcome: 'renewed', grantedMs: Math.min(ttlMs, answer.value.leftMs) };
    case 'superseded':
      return { outcome: 'failed', cause: new Error('a later renewal was executed before this one') };
    case 'revoked':
      session.grants.delete(grant.lease.id);
      return { outcome: 'gone', reason: 'revoked', code: 'REVOKED' };
    case 'other':
    case 'absent':
      session.grants.delete(grant.lease.id);
      return gone(session, grant);
  }
}

/** Gone within its lease: deleted by hand or evicted; or, if connections changed meanwhile, lost by the store itself. */
function gone(session: RedisSession, grant: RedisGrant): RenewReply {
  const changed = session.calls.link.epoch !== grant.epoch;
  return changed
    ? { outcome: 'gone', reason: 'storage-lost', code: 'STORAGE_LOST' }
    : { outcome: 'gone', reason: 'not-held', code: 'LOCK_NOT_FOUND' };
}
