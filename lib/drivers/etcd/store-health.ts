import { BackendStateError, quote, type DriverHealth } from '../../core/index.js';
import { StoreRefusal, storeError } from './call-failure.js';
import { METHODS } from './methods.js';
import { isTooOld, mayRevokeRenewed, parseVersion } from './store-version.js';
import { graceMs, type Store } from './store.js';

/** Asks whether the store serves locks: it has a leader, knows us, and lets us read where the entries stand. */
export class StoreHealth {
  private versionChecked = false;

  constructor(private readonly store: Store) {}

  /** @throws LockUnavailableError, BackendStateError */
  async ready(timeoutMs: number): Promise<void> {
    try {
      await this.read(timeoutMs);
    } catch (error) {
      throw storeError(error, 'it was asked whether it is ready', {});
    }
    await this.checkVersion(timeoutMs);
  }

  /** Never rejects. */
  async health(): Promise<DriverHealth> {
    const { calls, clock } = this.store;
    const startMs = clock.monoMs();
    try {
      await this.read(graceMs(calls.timeoutMs));
      return { state: 'ok', tookMs: clock.monoMs() - startMs };
    } catch (error) {
      const misconfigured = error instanceof StoreRefusal && error.kind !== 'full';
      return {
        state: misconfigured ? 'misconfigured' : 'unreachable',
        detail: quote((error as Error).message),
      };
    }
  }

  private async read(budgetMs: number): Promise<void> {
    const { key, end } = this.store.keys.all;
    const request = { key, range_end: end, count_only: true, limit: 1n };
    await this.store.calls.call(METHODS.range, request, { budgetMs });
  }

  private async checkVersion(timeoutMs: number): Promise<void> {
    if (this.versionChecked) return;
    const text = await this.askVersion(timeoutMs);
    const version = text === undefined ? undefined : parseVersion(text);
    if (version === undefined) return;
    this.versionChecked = true;
    if (isTooOld(version)) {
      throw new BackendStateError(`etcd ${text} is too old: klock needs 3.4 or later`, {
        code: 'BACKEND_MISCONFIGURED',
      });
    }
    if (!mayRevokeRenewed(version)) return;
    this.store.host.warn(
      'ETCD_VERSION',
      `etcd ${text} may revoke renewed leases when a stalled leader is replaced (etcd issue 15247): use 3.4.31, 3.5.13 or later`,
    );
  }

  private async askVersion(budgetMs: number): Promise<string | undefined> {
    try {
      const { reply } = await this.store.calls.call(METHODS.status, {}, { budgetMs });
      return reply.version;
    } catch {
      // Some clusters let only administrators ask; locks do not depend on the answer.
      return undefined;
    }
  }
}
