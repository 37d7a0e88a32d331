import {
  BackendStateError,
  formatKey,
  LockUnavailableError,
  type HolderPage,
  type ListedHolder,
  type LockErrorFacts,
  type LockKey,
  type PageOptions,
  type RevokeOptions,
  type RevokeReport,
} from '../core/index.js';
import type { HeldLock } from '../rpc/index.js';
import { errorOfOutcome, verdictOf, type NoAnswer } from '../session/index.js';
import type { LockService } from './lock-service.js';
import { keyOf, namesOf } from './wire-parts.js';

/** What operators ask of a lock server. It needs no session, so it works while nothing is granted. */
export class OperatorCalls {
  constructor(
    private readonly service: LockService,
    /** Who asks, for the server's log. */
    private readonly client: string,
  ) {}

  /** @throws LockUnavailableError, BackendStateError */
  async revoke(key: LockKey, options: RevokeOptions, timeoutMs: number): Promise<RevokeReport> {
    const { fence = 0n, below = false } = options;
    const facts = { key, operation: 'revoke' } as const;
    const link = await this.service.link(timeoutMs);
    if ('kind' in link) throw errorOfOutcome(link, facts);
    const command = { key, fence, below, client: this.client };
    const outcome = await this.service.revoke(link, command, timeoutMs);
    if (outcome.kind !== 'answered') throw problemOf(outcome, facts, 'revoke');
    const { ended, endedCount } = outcome.reply;
    return { key, ended: ended.map(withoutWaiters), endedCount: Number(endedCount) };
  }

  /** @throws LockUnavailableError, BackendStateError */
  async holders({ afterFence = 0n, limit = 0 }: PageOptions, timeoutMs: number): Promise<HolderPage> {
    const outcome = await this.service.listHolders(afterFence, limit, timeoutMs);
    if (outcome.kind !== 'answered') throw problemOf(outcome, { operation: 'inspect' }, 'list holders');
    const { holders, more } = outcome.reply;
    return { holders: holders.map(holderOf), more };
  }
}

function problemOf(outcome: NoAnswer, facts: LockErrorFacts, what: string): Error {
  if (outcome.kind === 'failed' && outcome.status === 'UNIMPLEMENTED') {
    const message = `the lock server is too old to ${what}: it does not know that call`;
    return new BackendStateError(message, { ...facts, code: 'BACKEND_MISCONFIGURED', cause: outcome.cause });
  }
  if (facts.key !== undefined && verdictOf(outcome) === 'unresolved') {
    const message = `nobody knows whether ${formatKey(facts.key)} was revoked: the lock server did not answer`;
    const cause = outcome.kind === 'refused' ? undefined : outcome.cause;
    return new LockUnavailableError(message, { ...facts, cause });
  }
  return errorOfOutcome(outcome, facts);
}

function withoutWaiters(lock: HeldLock): Omit<ListedHolder, 'waiters'> {
  const { waiters: _, ...holder } = holderOf(lock);
  return holder;
}

function holderOf(lock: HeldLock): ListedHolder {
  const { fence, session, metadata, heldMs, leaseLeftMs, waiters } = lock;
  const labels = Object.fromEntries(metadata.map(({ name, value }) => [name, value]));
  return {
    key: keyOf(lock),
    fence,
    session,
    ...namesOf(lock),
    ...(metadata.length === 0 ? {} : { metadata: labels }),
    heldMs: Number(heldMs),
    leaseLeftMs: Number(leaseLeftMs),
    waiters: Number(waiters),
  };
}
