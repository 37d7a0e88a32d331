import {
  BackendStateError,
  ClosedError,
  InvalidOptionError,
  LockUnavailableError,
  abortedError,
  formatKey,
  isLockError,
  onAbort,
  optionError,
  type Capabilities,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHealth,
  type DriverHost,
  type KeptLease,
  type LockDriver,
  type LockErrorFacts,
  type LockKey,
  type LockReport,
  type RenewReply,
  type RevokeOptions,
  type RevokeReport,
} from '../../core/index.js';
import { MAX_PENDING } from './bounds.js';
import { storeError } from './call-failure.js';
import { entryFate } from './deleted-entry.js';
import type { Entry } from './entry.js';
import type { EtcdSettings } from './etcd-options.js';
import { reportOn } from './etcd-report.js';
import type { EtcdGrant, EtcdSession } from './etcd-session.js';
import { giveBack } from './give-back.js';
import { GrpcTransport } from './grpc-transport.js';
import { GuardLeases } from './guard-leases.js';
import { HoldWatch } from './hold-watch.js';
import { KeySpace } from './key-space.js';
import { LeaseRenewals } from './lease-renewals.js';
import { OwnReleases } from './own-releases.js';
import { QueuePlace } from './queue-place.js';
import { ReleaseLanes } from './release-lanes.js';
import { revokeEntries } from './revoke-call.js';
import { SessionBook } from './session-book.js';
import { StoreCalls } from './store-calls.js';
import { StoreHealth } from './store-health.js';
import { graceMs, type Store } from './store.js';
import { TokenCalls, notHeld } from './token-calls.js';
import { Transactions } from './transactions.js';
import type { Transport } from './transport.js';
import { WatchStream } from './watch-stream.js';

const LEASE_UNIT_MS = 1_000;

const CAPABILITIES: Capabilities = {
  fence: 'durable',
  fair: true,
  wakeUp: 'push',
  hierarchy: true,
  extend: 'renew',
  lease: 'session',
  leaseUnitMs: LEASE_UNIT_MS,
  byToken: 'anyone',
  inspect: 'all',
  atLeast: true,
  revoke: true,
  survivesRestart: true,
};

/** What the driver is made of once it belongs to an instance. */
interface Parts extends Store {
  readonly watches: WatchStream;
  readonly renewals: LeaseRenewals;
  readonly held: HoldWatch;
  readonly own: OwnReleases;
  readonly tokens: TokenCalls;
  readonly health: StoreHealth;
}

/** Locks on an etcd cluster: exclusion rests on Raft and on etcd's leases, fences on its revision. */
export class EtcdDriver implements LockDriver {
  readonly name = 'etcd';
  readonly capabilities = CAPABILITIES;
  readonly store: string;
  private parts: Parts | undefined = undefined;
  private pending = 0;
  private farewell: Promise<boolean> | undefined = undefined;

  constructor(
    private readonly settings: EtcdSettings,
    private readonly connect: (host: DriverHost) => Transport = (host) =>
      new GrpcTransport(settings, host.clock),
  ) {
    this.store = `etcd:${[...settings.hosts].sort().join(',')}/${settings.prefix}`;
  }

  attach(host: DriverHost): void {
    if (this.parts !== undefined) {
      throw new InvalidOptionError('this etcd driver already belongs to an instance; make another', {
        option: 'driver',
        value: this.name,
      });
    }
    this.parts = this.assemble(host);
  }

  ready(timeoutMs: number): Promise<void> {
    return this.attached.health.ready(timeoutMs);
  }

  health(): Promise<DriverHealth> {
    return this.attached.health.health();
  }

  async acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> {
    const parts = this.attached;
    this.refuse(request);
    const startMs = parts.clock.monoMs();
    this.pending++;
    try {
      const outcome =
        (await this.attempt(request, startMs, true)) ?? (await this.attempt(request, startMs, false));
      if (outcome?.granted === true) parts.held.add(outcome as EtcdGrant);
      return outcome as DriverGrant | DriverBusy;
    } finally {
      this.pending--;
    }
  }

  async release(grant: DriverGrant, options?: { readonly keepMs?: number }): Promise<DefiniteRelease> {
    const own = grant as EtcdGrant;
    this.attached.held.remove(own);
    const giving = giveBack(this.attached, own, options?.keepMs);
    this.attached.own.begun(own.key, giving);
    const outcome = await giving;
    own.session.drop(own);
    return outcome;
  }

  async renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    const { renewals, sessions } = this.attached;
    const known = leases.map((lease) => sessions.of(lease));
    const ids = known.filter((session) => session !== undefined).map(({ leaseId }) => leaseId);
    const { ttls, cause } = await renewals.renew(ids, timeoutMs);
    return known.map((session) => this.renewReply(session, session && ttls.get(session.leaseId), cause));
  }

  abandon(lease: KeptLease): void {
    const session = this.attached.sessions.of(lease);
    if (session === undefined) return;
    this.forgetGrants(session);
    void this.attached.sessions.close(session);
  }

  async inspect(key: LockKey): Promise<LockReport> {
    return await this.asking(`${formatKey(key)} was inspected`, { key, operation: 'inspect' }, () =>
      reportOn(this.attached, key, this.budgetMs),
    );
  }

  async revoke(key: LockKey, options: RevokeOptions): Promise<RevokeReport> {
    const facts = { key, operation: 'revoke' } as const;
    const { entries, holders } = await this.asking(`${formatKey(key)} was revoked`, facts, () =>
      revokeEntries(this.attached, key, options, this.budgetMs),
    );
    for (const entry of entries) {
      const mine = this.grantOf(entry);
      if (mine !== undefined) this.endGrant(mine, 'REVOKED');
    }
    return { key, ended: holders, endedCount: entries.length };
  }

  async releaseToken(key: LockKey, token: string): Promise<void> {
    const { host, sessions, tokens } = this.attached;
    const own = sessions.grantBy(key, token);
    if (own === undefined) return await tokens.release(key, token);
    // Our own: the handle says so before the store frees it.
    host.endGrant(own, 'revoked', 'RELEASED_BY_TOKEN');
    if ((await this.release(own)) === 'lost') throw notHeld(key, { key, operation: 'release' });
  }

  async extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    if (ttlMs % LEASE_UNIT_MS !== 0) throw wholeSeconds(ttlMs);
    await this.attached.tokens.extend(key, token, ttlMs);
  }

  async close(timeoutMs: number): Promise<boolean> {
    this.farewell ??= this.sayFarewell(timeoutMs);
    return await this.farewell;
  }

  /** What could not be told within the time ends with its lease: nothing is asked any more. */
  private async sayFarewell(timeoutMs: number): Promise<boolean> {
    const { sessions, watches, calls } = this.attached;
    const told = await sessions.closeAll(timeoutMs);
    watches.close();
    calls.close();
    return told;
  }

  private get attached(): Parts {
    if (this.parts === undefined)
      throw new BackendStateError('the etcd driver is used before createKlock attached it');
    return this.parts;
  }

  private get budgetMs(): number {
    return graceMs(this.settings.callTimeoutMs);
  }

  private assemble(host: DriverHost): Parts {
    const { clock, random } = host;
    const { login, callTimeoutMs, prefix } = this.settings;
    const calls = new StoreCalls(host, this.connect(host), login, callTimeoutMs);
    const keys = new KeySpace(prefix);
    const watches = new WatchStream(clock, random, calls);
    const renewals = new LeaseRenewals(clock, calls, keys);
    const transactions = new Transactions(keys);
    const store = {
      host,
      clock,
      random,
      calls,
      keys,
      watches,
      transactions,
      releases: new ReleaseLanes(clock, calls, transactions),
      sessions: new SessionBook(host, calls, graceMs(callTimeoutMs)),
      guards: new GuardLeases(clock, calls),
    };
    return {
      ...store,
      renewals,
      held: new HoldWatch(clock, watches, (grant) => void this.confirmDeleted(grant)),
      own: new OwnReleases(clock),
      tokens: new TokenCalls(store, renewals),
      health: new StoreHealth(store),
    };
  }

  private refuse({ key, ttlMs, signal }: DriverAcquire): void {
    if (this.farewell !== undefined)
      throw new ClosedError('the etcd driver is closed', { key, operation: 'acquire' });
    if (signal?.aborted === true) throw abortedError(key, signal.reason);
    if (ttlMs < LEASE_UNIT_MS || ttlMs % LEASE_UNIT_MS !== 0) throw wholeSeconds(ttlMs);
    if (this.pending < MAX_PENDING) return;
    throw new LockUnavailableError(`${formatKey(key)} is not waited for: ${MAX_PENDING} others are already`, {
      key,
      operation: 'acquire',
      storeCode: 'LIMIT_WAITERS',
    });
  }

  /** Undefined: the session turned out to have ended before, with nothing done; asked again it will be another. */
  private async attempt(
    request: DriverAcquire,
    startMs: number,
    mayRepeat: boolean,
  ): Promise<DriverGrant | DriverBusy | undefined> {
    const place = new QueuePlace(this.attached, request, await this.session(request), startMs);
    try {
      return await place.run();
    } catch (error) {
      if (mayRepeat && place.isUnbegun && isLockError(error, 'LOCK_UNAVAILABLE')) return undefined;
      throw error;
    }
  }

  /** The session to acquire under; nobody waits for it longer than for the lock itself. */
  private async session({ key, ttlMs, signal }: DriverAcquire): Promise<EtcdSession> {
    const facts: LockErrorFacts = { key, operation: 'acquire' };
    const opening = this.asking(`${formatKey(key)} was waited for`, facts, async () => {
      await this.attached.own.before(key);
      return await this.attached.sessions.find(ttlMs);
    });
    if (signal === undefined) return await opening;
    let abort: Disposable | undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = onAbort(signal, (reason) => reject(abortedError(key, reason)));
    });
    try {
      return await Promise.race([opening, aborted]);
    } catch (error) {
      // Opened for nobody, if it was for this lock alone.
      void opening.then((session) => session.during(() => Promise.resolve())).catch(() => undefined);
      throw error;
    } finally {
      abort?.[Symbol.dispose]();
    }
  }

  private renewReply(session: EtcdSession | undefined, ttl: bigint | undefined, cause: unknown): RenewReply {
    if (session === undefined) return { outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' };
    if (ttl === undefined) return { outcome: 'failed', cause };
    if (ttl > 0n) return { outcome: 'renewed', grantedMs: Number(ttl) * 1_000 };
    this.forgetGrants(session);
    this.attached.sessions.gone(session);
    return { outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' };
  }

  private forgetGrants(session: EtcdSession): void {
    for (const grant of session.grants) this.attached.held.remove(grant);
  }

  /** The watch says that a held entry was deleted. */
  private async confirmDeleted(grant: EtcdGrant): Promise<void> {
    const found = await entryFate(this.attached, grant);
    switch (found.fate) {
      case 'there':
        return this.attached.held.renew(grant, found.revision);
      case 'deleted':
        return this.endGrant(grant, found.word === 'revoked' ? 'REVOKED' : 'ENTRY_DELETED');
      case 'lease-gone':
        this.forgetGrants(grant.session);
        return this.attached.sessions.gone(grant.session);
      case 'over':
        return;
    }
  }

  private endGrant(grant: EtcdGrant, code: string): void {
    this.attached.held.remove(grant);
    grant.session.drop(grant);
    this.attached.host.endGrant(grant, 'revoked', code);
  }

  private grantOf(entry: Entry): EtcdGrant | undefined {
    const session = this.attached.sessions.byLeaseId(entry.leaseId);
    return [...(session?.grants ?? [])].find((grant) => grant.requestId === entry.requestId);
  }

  private async asking<T>(doing: string, facts: LockErrorFacts, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof BackendStateError) throw error;
      throw storeError(error, doing, facts);
    }
  }
}

function wholeSeconds(ttlMs: number): InvalidOptionError {
  return optionError('ttlMs', "a multiple of 1000 ms: etcd's leases are whole seconds", ttlMs);
}
