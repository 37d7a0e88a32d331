import type { DefiniteRelease } from '../../core/index.js';
import { ROUND_MS } from './bounds.js';
import { StoreRefusal } from './call-failure.js';
import { leaseName, writeEntry } from './entry.js';
import type { EtcdGrant } from './etcd-session.js';
import { METHODS } from './methods.js';
import type { Store } from './store.js';
import { withGuard } from './take-back.js';
import type { GuardPut } from './transactions.js';

/** Gives a grant back, asking again until the store has answered or the lease is over. Never rejects. */
export async function giveBack(
  store: Store,
  grant: EtcdGrant,
  keepMs: number | undefined,
): Promise<DefiniteRelease> {
  const release = new Release(store, grant, keepMs);
  return await grant.session.during(() => release.run());
}

class Release {
  private copies = 0;

  constructor(
    private readonly store: Store,
    private readonly grant: EtcdGrant,
    private readonly keepMs: number | undefined,
  ) {}

  async run(): Promise<DefiniteRelease> {
    while (this.grant.session.alive) {
      try {
        return await this.attempt();
      } catch (error) {
        if (error instanceof StoreRefusal && error.kind !== 'lease-gone') return this.refused(error);
      }
    }
    return 'lost';
  }

  private async attempt(): Promise<DefiniteRelease> {
    if (this.keepMs !== undefined && this.keepMs > 0) return await this.keep(this.keepMs);
    const { grant, store } = this;
    const freed = grant.doubled
      ? await this.send((guard) => store.transactions.release(grant.seat, grant.revision, guard))
      : await store.releases.release(grant, () => void this.copies++);
    return freed ? 'released' : await this.absent();
  }

  /** The key stays taken, under a lease of its own that outlives this client; deleted earlier if we live to do it. */
  private async keep(keepMs: number): Promise<DefiniteRelease> {
    const { grant, store } = this;
    const { reply: lease } = await store.calls.call(
      METHODS.leaseGrant,
      { TTL: BigInt(Math.ceil(keepMs / 1_000)) },
      { budgetMs: ROUND_MS },
    );
    const seat = { ...grant.seat, leaseId: lease.ID };
    const kept = await this.send((guard) =>
      store.transactions.keep(seat, grant.revision, this.keptValue(), guard),
    );
    if (!kept) {
      void store.sessions.revoke(lease.ID, ROUND_MS);
      return await this.absent();
    }
    store.clock.after(keepMs, () => void store.sessions.revoke(lease.ID, ROUND_MS));
    return 'released';
  }

  private keptValue(): Buffer {
    const { grant, store } = this;
    const { clientName } = store.host.settings;
    return writeEntry({
      state: 'kept',
      tokenHash: grant.tokenHash,
      queuedAtMs: grant.queuedAtMs,
      grantedAtMs: grant.grantedAtMs,
      grantRevision: grant.revision.toString(),
      ...(clientName === undefined ? undefined : { client: clientName }),
      ...(grant.metadata === undefined ? undefined : { metadata: grant.metadata }),
    });
  }

  /** Whether this copy found the grant and ended it. */
  private async send(request: (guard: GuardPut | undefined) => object): Promise<boolean> {
    const { store } = this;
    return await withGuard(store, this.grant.doubled, async (guard) => {
      const { reply } = await store.calls.call(METHODS.txn, request(guard), {
        budgetMs: ROUND_MS,
        sending: () => void this.copies++,
      });
      return reply.succeeded;
    });
  }

  /** The grant is not there. An earlier copy of this release may have ended it, or it had ended before, with its lease. */
  private async absent(): Promise<DefiniteRelease> {
    if (this.copies < 2) return 'lost';
    const { session } = this.grant;
    try {
      const { reply } = await this.store.calls.call(
        METHODS.leaseTimeToLive,
        { ID: session.leaseId },
        { budgetMs: ROUND_MS },
      );
      // Whole seconds left, 0 in the last one.
      return reply.TTL >= 0n ? 'released' : 'lost';
    } catch {
      return session.alive ? 'released' : 'lost';
    }
  }

  /** Retrying does not help; ending the lease does, if nothing else rests on it. */
  private refused(error: StoreRefusal): DefiniteRelease {
    const { session } = this.grant;
    this.store.host.warn(
      'RELEASE_REFUSED',
      `etcd refused to release; the key stays taken until lease ${leaseName(session.leaseId)} ends`,
      error,
    );
    return 'lost';
  }
}
