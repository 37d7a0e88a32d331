import {
  InvalidTokenError,
  LockNotHeldError,
  LockUnavailableError,
  formatKey,
  optionError,
  type LockErrorFacts,
  type LockKey,
} from '../../core/index.js';
import { INSPECT_ENTRIES } from './bounds.js';
import { storeError } from './call-failure.js';
import { hashToken, readEntry, type Entry } from './entry.js';
import type { LeaseRenewals } from './lease-renewals.js';
import { ASCEND, BY_CREATE_REVISION } from './messages.js';
import { METHODS } from './methods.js';
import { graceMs, type Store } from './store.js';
import { withGuard } from './take-back.js';

/** Calls that need nothing but a key and the token of its grant, from whichever client. */
export class TokenCalls {
  constructor(
    private readonly store: Store,
    private readonly renewals: LeaseRenewals,
  ) {}

  /**
   * Ends the grant, if it is still as it was read: a held entry is never written again, so an unchanged revision means
   * an unchanged token.
   * @throws LockNotHeldError, InvalidTokenError, LockUnavailableError
   */
  async release(key: LockKey, token: string): Promise<void> {
    const facts: LockErrorFacts = { key, operation: 'release' };
    const entry = await this.find(key, token, facts);
    if (!(await this.asking(facts, () => this.remove(entry)))) throw notHeld(key, facts);
  }

  /** @throws LockNotHeldError, InvalidTokenError, InvalidOptionError, LockUnavailableError */
  async extend(key: LockKey, token: string, ttlMs: number): Promise<void> {
    const facts: LockErrorFacts = { key, operation: 'extend' };
    const { leaseId } = await this.find(key, token, facts);
    const { ttls, cause } = await this.renewals.renew([leaseId], this.budgetMs);
    const seconds = ttls.get(leaseId);
    if (seconds === undefined)
      throw new LockUnavailableError(`etcd did not extend ${formatKey(key)}`, { ...facts, cause });
    if (seconds === 0n) throw notHeld(key, facts);
    const leaseMs = Number(seconds) * 1_000;
    if (ttlMs > leaseMs) throw optionError('ttlMs', `at most the session's lease of ${leaseMs} ms`, ttlMs);
  }

  private async find(key: LockKey, token: string, facts: LockErrorFacts): Promise<Entry> {
    const entries = await this.asking(facts, () => this.entriesOf(key));
    const held = entries.filter(({ state }) => state === 'held');
    if (held.length === 0) throw notHeld(key, facts);
    const hash = hashToken(token);
    const found = held.find(({ tokenHash }) => tokenHash === hash);
    if (found !== undefined) return found;
    throw new InvalidTokenError(`the token is not that of the grant of ${formatKey(key)}`, facts);
  }

  /** The entries of exactly this key, the first of them first: a holder stands before all who wait. */
  private async entriesOf(key: LockKey): Promise<readonly Entry[]> {
    const { calls, keys } = this.store;
    const range = keys.own(key);
    const request = {
      key: range.key,
      range_end: range.end,
      limit: INSPECT_ENTRIES,
      sort_order: ASCEND,
      sort_target: BY_CREATE_REVISION,
    };
    const { reply } = await calls.call(METHODS.range, request, { budgetMs: this.budgetMs });
    return reply.kvs.map((kv) => readEntry(kv, keys)).filter((entry) => entry !== undefined);
  }

  /** False: it had ended before. */
  private async remove(entry: Entry): Promise<boolean> {
    const { calls, transactions } = this.store;
    let copies = 0;
    const options = { budgetMs: this.budgetMs, sending: (): void => void copies++ };
    // Whether its acquire was sent twice is known to its client alone: the guard is written in any case.
    const { reply } = await withGuard(this.store, true, async (guard) =>
      calls.call(METHODS.txn, transactions.release(entry, entry.modRevision, guard), options),
    );
    // An earlier copy may have ended it and its answer been lost: it stood there when the first was sent.
    return reply.succeeded || copies > 1;
  }

  private get budgetMs(): number {
    return graceMs(this.store.calls.timeoutMs);
  }

  private async asking<T>(facts: LockErrorFacts, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw storeError(
        error,
        `the grant of ${formatKey(facts.key as LockKey)} was looked up by its token`,
        facts,
      );
    }
  }
}

export function notHeld(key: LockKey, facts: LockErrorFacts): LockNotHeldError {
  return new LockNotHeldError(`${formatKey(key)} is not held`, facts);
}
