import type { Clock, Timer } from '../../core/index.js';
import { WATCH_HOLD_AFTER_MS } from './bounds.js';
import type { EtcdGrant } from './etcd-session.js';
import type { KeyWatches } from './watch-stream.js';

/**
 * Watches the entries of grants held for a while, so that a deletion by somebody else is noticed at once (design D8).
 * Most locks are given back before it is worth a watch: the young ones stand in a line behind one timer.
 */
export class HoldWatch {
  private readonly young = new Map<EtcdGrant, number>();
  private readonly watched = new Map<EtcdGrant, Disposable>();
  private timer: Timer | undefined = undefined;

  constructor(
    private readonly clock: Clock,
    private readonly watches: KeyWatches,
    private readonly deleted: (grant: EtcdGrant) => void,
  ) {}

  add(grant: EtcdGrant): void {
    this.young.set(grant, this.clock.monoMs() + WATCH_HOLD_AFTER_MS);
    this.timer ??= this.clock.after(WATCH_HOLD_AFTER_MS, () => this.look());
  }

  remove(grant: EtcdGrant): void {
    this.young.delete(grant);
    this.watched.get(grant)?.[Symbol.dispose]();
    this.watched.delete(grant);
  }

  /** Watches again, from a revision at which it was seen to be there. */
  renew(grant: EtcdGrant, seenAtRevision: bigint): void {
    this.watched.set(
      grant,
      this.watches.watch(grant.seat.name, seenAtRevision + 1n, () => {
        this.watched.delete(grant);
        this.deleted(grant);
      }),
    );
  }

  private look(): void {
    this.timer = undefined;
    const nowMs = this.clock.monoMs();
    for (const [grant, dueMs] of this.young) {
      if (dueMs > nowMs) {
        this.timer = this.clock.after(dueMs - nowMs, () => this.look());
        return;
      }
      this.young.delete(grant);
      // Ended without word to us: its session is over.
      if (grant.session.grants.has(grant)) this.renew(grant, grant.revision);
    }
  }
}
