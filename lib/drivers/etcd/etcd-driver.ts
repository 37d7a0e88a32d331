import {
  BackendStateError,
  ClosedError,
  InvalidOptionError,
  InvalidTokenError,
  LockNotHeldError,
  LockUnavailableError,
  abortedError,
  formatKey,
  onAbort,
  optionError,
  quote,
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
} from '../../core/index.js';
import { MAX_PENDING } from './bounds.js';
import { StoreRefusal, storeError } from './call-failure.js';
import { hashToken, type Entry } from './entry.js';
import type { EtcdSettings } from './etcd-options.js';
import { reportOn } from './etcd-report.js';
import type { EtcdGrant, EtcdSession } from './etcd-session.js';
import { giveBack } from './give-back.js';
import { GrpcTransport } from './grpc-transport.js';
import { GuardLeases } from './guard-leases.js';
import { HoldWatch } from './hold-watch.js';
import { KeySpace } from './key-space.js';
import { LeaseRenewals } from './lease-renewals.js';
import { METHODS } from './methods.js';
import { OwnReleases } from './own-releases.js';
import { QueuePlace } from './queue-place.js';
import { SessionBook } from './session-book.js';
import { StoreCalls } from './store-calls.js';
import { isTooOld, mayRevokeRenewed, parseVersion } from './store-version.js';
import { graceMs, type Store } from './store.js';
import { entriesOf, removeGrant } from './token-calls.js';
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
  survivesRestart: true,
};

/** What the driver is made of once it belongs to an instance. */
interface Parts extends Store {
  readonly watches: WatchStream;
  readonly renewals: LeaseRenewals;
  readonly held: HoldWatch;
  readonly own: OwnReleases;
}

/** Locks on an etcd cluster: exclusion rests on Raft and on etcd's leases, fences on its revision. */
export class EtcdDriver implements LockDriver {
  readonly name = 'etcd';
  readonly capabilities = CAPABILITIES;
  readonly store: string;
  private parts: Parts | undefined;
  private pending = 0;
  private farewell: Promise<boolean> | undefined;
  private versionChecked = false;

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

  async ready(timeoutMs: number): Promise<void> {
    const { calls, keys } = this.attached;
    const { all } = keys;
    try {
      const request = { key: all.key, range_end: all.end, count_only: true, limit: 1n };
      await calls.call(METHODS.range, request, { budgetMs: timeoutMs });
    } catch (error) {
      throw storeError(error, 'it was asked whether it is ready', {});
    }
    await this.checkVersion(timeoutMs);
  }

  async health(): Promise<DriverHealth> {
    const { calls, clock, keys } = this.attached;
    const startMs = clock.monoMs();
    const { all } = keys;
    try {
      const request = { key: all.key, range_end: all.end, count_only: true, limit: 1n };
      await calls.call(METHODS.range, request, { budgetMs: graceMs(calls.timeoutMs) });
      return { state: 'ok', tookMs: clock.monoMs() - startMs };
    } catch (error) {
      const misconfigured = error instanceof StoreRefusal && error.kind !== 'full';
      return {
        state: misconfigured ? 'misconfigured' : 'unreachable',
        detail: quote((error as Error).message),
      };
    }
  }

  async acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> {
    const parts = this.attached;
    this.refuse(request);
    const startMs = parts.clock.monoMs();
    this.pending++;
    try {
      const session = await this.session(request);
      const outcome = await new QueuePlace(parts, request, session, startMs).run();
      if (outcome.granted) parts.held.add(outcome as EtcdGrant);
      return outcome;
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

  async releaseToken(key: LockKey, token: string): Promise<void> {
    const facts: LockErrorFacts = { key, operation: 'release' };
    const entry = await this.byToken(key, token, facts);
    const removed = await this.asking(`${formatKey(key)} was released`, facts, () =>
      removeGrant(this.attached, entry, this.budgetMs),
    );
    const mine = this.grantOf(entry);
    if (mine !== undefined) this.endGrant(mine, 'RELEASED_BY_TOKEN');
    if (!removed) throw notHeld(key, facts);
  }

  async extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    const facts: LockErrorFacts = { key, operation: 'extend' };
    if (ttlMs % LEASE_UNIT_MS !== 0) throw wholeSeconds(ttlMs);
    const entry = await this.byToken(key, token, facts);
    const { ttls } = await this.attached.renewals.renew([entry.leaseId], this.budgetMs);
    const leftMs = Number(ttls.get(entry.leaseId) ?? -1n) * 1_000;
    if (leftMs < 0) throw new LockUnavailableError(`etcd did not extend ${formatKey(key)}`, facts);
    if (leftMs === 0) throw notHeld(key, facts);
    if (ttlMs > leftMs) throw optionError('ttlMs', `at most the session's lease of ${leftMs} ms`, ttlMs);
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
    return {
      host,
      clock,
      random,
      calls,
      keys,
      watches,
      transactions: new Transactions(keys),
      sessions: new SessionBook(host, calls, graceMs(callTimeoutMs)),
      guards: new GuardLeases(clock, calls),
      own: new OwnReleases(clock),
      renewals: new LeaseRenewals(clock, calls, keys),
      held: new HoldWatch(clock, watches, (grant) => void this.confirmDeleted(grant)),
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

  /** The watch says that a held entry was deleted: believed once the store itself says so. */
  private async confirmDeleted(grant: EtcdGrant): Promise<void> {
    const { calls, held, sessions } = this.attached;
    const { session, seat } = grant;
    while (session.alive && session.grants.has(grant) && this.farewell === undefined) {
      try {
        const { reply } = await calls.call(METHODS.range, { key: seat.name }, { budgetMs: this.budgetMs });
        if (!session.grants.has(grant)) return;
        if (reply.kvs.length > 0) return held.renew(grant, reply.header?.revision ?? grant.revision);
        const { reply: lease } = await calls.call(
          METHODS.leaseTimeToLive,
          { ID: session.leaseId },
          { budgetMs: this.budgetMs },
        );
        if (!session.grants.has(grant)) return;
        if (lease.TTL > 0n) return this.endGrant(grant, 'ENTRY_DELETED');
        this.forgetGrants(session);
        return sessions.gone(session);
      } catch (error) {
        if (error instanceof StoreRefusal) return;
      }
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

  private async byToken(key: LockKey, token: string, facts: LockErrorFacts): Promise<Entry> {
    const entries = await this.asking(`the token of ${formatKey(key)} was looked up`, facts, () =>
      entriesOf(this.attached, key, this.budgetMs),
    );
    const held = entries.filter(({ state }) => state === 'held');
    if (held.length === 0) throw notHeld(key, facts);
    const hash = hashToken(token);
    const found = held.find(({ tokenHash }) => tokenHash === hash);
    if (found !== undefined) return found;
    throw new InvalidTokenError(`the token is not that of the grant of ${formatKey(key)}`, facts);
  }

  private async asking<T>(doing: string, facts: LockErrorFacts, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof BackendStateError) throw error;
      throw storeError(error, doing, facts);
    }
  }

  private async checkVersion(timeoutMs: number): Promise<void> {
    if (this.versionChecked) return;
    const { calls, host } = this.attached;
    let text: string;
    try {
      const { reply } = await calls.call(METHODS.status, {}, { budgetMs: timeoutMs });
      text = reply.version;
    } catch {
      // Some clusters let only administrators ask; locks do not depend on the answer.
      return;
    }
    this.versionChecked = true;
    const version = parseVersion(text);
    if (version === undefined) return;
    if (isTooOld(version)) {
      throw new BackendStateError(`etcd ${text} is too old: klock needs 3.4 or later`, {
        code: 'BACKEND_MISCONFIGURED',
      });
    }
    if (!mayRevokeRenewed(version)) return;
    host.warn(
      'ETCD_VERSION',
      `etcd ${text} may revoke renewed leases when a stalled leader is replaced (etcd issue 15247): use 3.4.31, 3.5.13 or later`,
    );
  }
}

function wholeSeconds(ttlMs: number): InvalidOptionError {
  return optionError('ttlMs', "a multiple of 1000 ms: etcd's leases are whole seconds", ttlMs);
}

function notHeld(key: LockKey, facts: LockErrorFacts): LockNotHeldError {
  return new LockNotHeldError(`${formatKey(key)} is not held`, facts);
}
