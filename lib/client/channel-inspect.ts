import { LockUnavailableError, type LockKey, type LockReport } from '../core/index.js';
import { Outcome, type ChannelAnswer, type ChannelReport } from '../rpc/index.js';
import { errorOfOutcome } from '../session/index.js';
import { inspectOperation } from './channel-frames.js';
import type { BoundedAsker } from './channel-asker.js';
import type { ChannelSession } from './channel-session.js';
import { keyOf, namesOf } from './wire-parts.js';

/** Of the facts of a refusal, those an error does not show. */
const NOWHERE = { link: 0, sentAt: { monoMs: 0, wallMs: 0 } };

/** Asks who holds and waits. Settles by `endMs` and a second, whatever happens. */
export class ChannelInspect implements BoundedAsker {
  readonly of = 0;
  readonly report: Promise<LockReport>;
  private resolve: (report: LockReport) => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;

  constructor(
    channel: ChannelSession,
    private readonly key: LockKey,
    public endMs: number,
  ) {
    this.report = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    channel.ask(inspectOperation(key), this);
  }

  answered({ outcome, report, error }: ChannelAnswer): void {
    const { key } = this;
    if (outcome === Outcome.Reported && report !== undefined) return this.resolve(reportOf(key, report));
    const refusal = error ?? { status: 500, code: 'INTERNAL', message: `outcome ${outcome}`, serverId: '' };
    this.reject(errorOfOutcome({ kind: 'refused', refusal, ...NOWHERE }, { key, operation: 'inspect' }));
  }

  unanswered(): void {
    this.fail('the session ended');
  }

  askAgain(): void {
    this.fail('the server has lost the question');
  }

  overdue(): void {
    this.endMs = Infinity;
    this.fail('no answer in time');
  }

  private fail(why: string): void {
    const { key } = this;
    this.reject(
      new LockUnavailableError(`the lock server did not say who holds what: ${why}`, {
        key,
        operation: 'inspect',
      }),
    );
  }
}

function reportOf(key: LockKey, { locked, holders, waiters, waiterCount }: ChannelReport): LockReport {
  return {
    key,
    locked,
    holders: holders.map((holder) => ({
      key: keyOf(holder),
      fence: holder.fence,
      session: holder.session,
      ...namesOf(holder),
      ...(holder.metadata === undefined ? {} : { metadata: holder.metadata }),
      heldMs: holder.heldMs,
      leaseLeftMs: holder.leaseLeftMs,
    })),
    waiters: waiters.map((waiter) => ({
      key: keyOf(waiter),
      session: waiter.session,
      ...namesOf(waiter),
      waitedMs: waiter.waitedMs,
    })),
    waiterCount,
  };
}
