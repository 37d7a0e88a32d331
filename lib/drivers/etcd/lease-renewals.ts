import type { Clock } from '../../core/index.js';
import { failureKind } from './call-failure.js';
import type { KeySpace } from './key-space.js';
import { METHODS } from './methods.js';
import type { StoreCalls } from './store-calls.js';
import { CallError } from './transport.js';

/** What the store said about one lease: seconds it lives from now on, 0 if it does not exist; absent: no answer. */
export type Ttls = Map<bigint, bigint>;

/**
 * Renews leases over one short keep-alive stream for each attempt: no stream is trusted longer than its answers take,
 * and each attempt goes to the member that answers at the time.
 */
export class LeaseRenewals {
  constructor(
    private readonly clock: Clock,
    private readonly calls: StoreCalls,
    private readonly keys: KeySpace,
  ) {}

  /** Asks until each lease has an answer or the time is over. Never rejects. */
  async renew(ids: readonly bigint[], timeoutMs: number): Promise<{ ttls: Ttls; cause: unknown }> {
    const endMs = this.clock.monoMs() + timeoutMs;
    const ttls: Ttls = new Map();
    const cause = await this.askAll(ids, endMs, ttls);
    const doubtful = ids.filter((id) => ttls.get(id) === 0n);
    if (doubtful.length > 0) await this.askAgain(doubtful, endMs, ttls);
    return { ttls, cause };
  }

  /** A member that has fallen behind may not have met the lease yet: only one that has caught up can say that it is gone. */
  private async askAgain(ids: readonly bigint[], endMs: number, ttls: Ttls): Promise<void> {
    for (const id of ids) ttls.delete(id);
    const { all } = this.keys;
    try {
      await this.calls.call(
        METHODS.range,
        { key: all.key, range_end: all.end, count_only: true, limit: 1n },
        { budgetMs: endMs - this.clock.monoMs() },
      );
    } catch {
      return;
    }
    await this.askAll(ids, endMs, ttls);
  }

  private async askAll(ids: readonly bigint[], endMs: number, ttls: Ttls): Promise<unknown> {
    let cause: unknown;
    for (;;) {
      const open = ids.filter((id) => !ttls.has(id));
      const leftMs = endMs - this.clock.monoMs();
      if (open.length === 0 || leftMs <= 0) return cause;
      const member = this.calls.members.current;
      cause = await this.ask(member, open, Math.min(this.calls.timeoutMs, leftMs), ttls);
      if (cause === undefined) continue;
      if (cause instanceof CallError && failureKind(cause) === 'login') await this.calls.renewLogin();
      else this.calls.members.failed(member);
      if (!(await this.catchBreath(endMs))) return cause;
    }
  }

  /** One stream to one member. Resolves with what went wrong, undefined if all was answered. */
  private ask(member: number, ids: readonly bigint[], timeoutMs: number, ttls: Ttls): Promise<unknown> {
    return new Promise((resolve) => {
      const missing = new Set(ids);
      const settle = (cause: unknown): void => {
        timer.cancel();
        stream.close();
        resolve(cause);
      };
      const timer = this.clock.after(timeoutMs, () =>
        settle(new CallError(4, `no answer to a keep-alive within ${timeoutMs} ms`, member)),
      );
      const stream = this.calls.transport.open(
        member,
        METHODS.leaseKeepAlive,
        {
          message: ({ ID, TTL }) => {
            if (!missing.delete(ID)) return;
            ttls.set(ID, TTL);
            if (missing.size === 0) settle(undefined);
          },
          ended: settle,
        },
        { token: this.calls.token },
      );
      for (const ID of ids) stream.send({ ID });
    });
  }

  private catchBreath(endMs: number): Promise<boolean> {
    const leftMs = endMs - this.clock.monoMs();
    if (leftMs <= 0) return Promise.resolve(false);
    return new Promise((resolve) => this.clock.after(Math.min(50, leftMs), () => resolve(true)));
  }
}
