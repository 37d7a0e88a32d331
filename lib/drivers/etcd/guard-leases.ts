import type { Clock } from '../../core/index.js';
import { GUARD_LEASE_S, GUARD_ROTATION_MS } from './bounds.js';
import { METHODS } from './methods.js';
import type { GuardPut } from './transactions.js';
import type { StoreCalls } from './store-calls.js';

/**
 * The lease that guards are put on. It is never renewed or revoked: a guard must outlive every copy of the request it
 * guards against, also that of a session and a process long ended.
 */
export class GuardLeases {
  private current: { readonly leaseId: bigint; readonly untilMs: number } | undefined = undefined;
  private opening: Promise<bigint> | undefined = undefined;

  constructor(
    private readonly clock: Clock,
    private readonly calls: StoreCalls,
  ) {}

  /** @throws StoreRefusal, Unanswered */
  async take(budgetMs: number): Promise<GuardPut> {
    if (this.current !== undefined && this.clock.monoMs() < this.current.untilMs) return this.current;
    this.opening ??= this.open(budgetMs).finally(() => (this.opening = undefined));
    return { leaseId: await this.opening };
  }

  /** The lease turned out to be gone. */
  forget(): void {
    this.current = undefined;
  }

  private async open(budgetMs: number): Promise<bigint> {
    const { reply, sentAt } = await this.calls.call(METHODS.leaseGrant, { TTL: GUARD_LEASE_S }, { budgetMs });
    this.current = { leaseId: reply.ID, untilMs: sentAt.monoMs + GUARD_ROTATION_MS };
    return reply.ID;
  }
}
