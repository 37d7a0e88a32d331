import type {
  Asker,
  Capabilities,
  DefiniteRelease,
  DriverAcquire,
  DriverBusy,
  DriverGrant,
  DriverHealth,
  DriverHost,
  Instant,
  KeptLease,
  Later,
  LockDriver,
  LockKey,
  LockReport,
  HolderPage,
  PageOptions,
  RenewReply,
  RevokeOptions,
  RevokeReport,
} from '../../core/index.js';
import {
  BackendStateError,
  InvalidOptionError,
  InvalidTokenError,
  LockNotHeldError,
  LockUnavailableError,
  abortedError,
  askerOf,
  formatKey,
  isSameKey,
  laterOf,
  leaseLadder,
  onAbort,
  rungFor,
} from '../../core/index.js';
import type { LateAnswer, Refusal } from '../../engine/index.js';
import type { LocalStore } from './local-store.js';
import { LocalLock, type LocalLocks } from './local-lock.js';
import { LocalSession } from './local-session.js';
import { TokenBook } from './token-book.js';

const CAPABILITIES: Capabilities = {
  fence: 'process',
  fair: true,
  wakeUp: 'push',
  hierarchy: true,
  extend: 'renew',
  lease: 'session',
  leaseUnitMs: 1,
  byToken: 'session',
  inspect: 'all',
  atLeast: true,
  revoke: true,
  survivesRestart: false,
};

const BUSY: DriverBusy = { granted: false };

/** Locks over an engine in this process: no network, the same rules. */
export class MemoryDriver implements LockDriver, LocalLocks {
  readonly name = 'memory';
  readonly capabilities: Capabilities;
  private host: DriverHost | undefined = undefined;
  private ladder: readonly number[] = [];
  /** One for each length of lease: few. */
  private sessions: readonly LocalSession[] = [];
  private book: TokenBook | undefined = undefined;
  /** Whether a reading of the instance's clock is one of the store's. */
  private oneClock = false;
  /** While a grant is given back: both clocks as read in this turn, in which the next waiter is granted. */
  private releasedAt: Instant | undefined = undefined;

  constructor(
    private readonly local: LocalStore,
    capabilities?: Partial<Capabilities>,
  ) {
    this.capabilities = { ...CAPABILITIES, ...capabilities };
  }

  get store(): string {
    return this.local.store;
  }

  attach(host: DriverHost): void {
    if (this.host !== undefined) {
      throw new InvalidOptionError(
        'this memory driver already belongs to an instance; make another over the same store',
        {
          option: 'driver',
          value: this.name,
        },
      );
    }
    this.host = host;
    this.book = new TokenBook(host.random);
    this.oneClock = host.clock === this.local.clock;
    this.ladder = leaseLadder(host.settings.ttlMs);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Promise<DriverHealth> {
    return Promise.resolve({ state: this.local.condition });
  }

  acquire(request: DriverAcquire): DriverGrant | DriverBusy | Promise<DriverGrant | DriverBusy> | Later {
    if (request.signal?.aborted === true) throw abortedError(request.key, request.signal.reason);
    const now = request.askedAt ?? this.attached.clock.now();
    const session = this.session(rungFor(this.ladder, request.ttlMs), request.key, now);
    const nowMs = this.storeMs(now);
    const lock = new LocalLock(request.key, session, this);
    const answer = this.local.apply(
      {
        type: 'acquire',
        callId: lock,
        sessionId: session.id,
        requestId: '',
        key: request.key,
        waitUntilMs: nowMs + request.waitMs,
        metadata: request.metadata,
      },
      nowMs,
    );
    if (answer.type === 'granted') return this.granted(lock, now);
    return answer.type === 'queued' ? this.wait(lock, request) : this.refusedAtOnce(lock, answer.refusal);
  }

  abortWaits(reason: unknown): void {
    for (const { id } of this.sessions)
      for (const call of this.local.waitingCalls(id)) this.abort(call as LocalLock, reason);
  }

  release(grant: DriverGrant, options?: { readonly keepMs?: number }, now?: Instant): DefiniteRelease {
    const lock = grant as LocalLock;
    const readAt = now ?? this.attached.clock.now();
    const nowMs = this.storeMs(readAt);
    this.releasedAt = readAt;
    try {
      const answer = this.local.apply(
        { type: 'release-grant', grant: lock.grant, keepMs: options?.keepMs },
        nowMs,
      );
      this.over(lock, nowMs);
      return answer.type === 'released' ? 'released' : 'lost';
    } finally {
      this.releasedAt = undefined;
    }
  }

  renew(leases: readonly KeptLease[]): Promise<readonly RenewReply[]> {
    return Promise.resolve(leases.map((lease) => this.renewOne(lease)));
  }

  abandon(lease: KeptLease): void {
    const session = this.sessionOf(lease);
    if (session !== undefined) this.end(session);
  }

  inspect(key: LockKey): Promise<LockReport> {
    return Promise.resolve(this.local.inspect(key));
  }

  revoke(key: LockKey, options: RevokeOptions): Promise<RevokeReport> {
    const { clientName } = this.attached.settings;
    const { ended, endedCount } = this.local.apply({ type: 'revoke', key, ...options, by: clientName });
    return Promise.resolve({ key, ended, endedCount });
  }

  holders(page: PageOptions): Promise<HolderPage> {
    return Promise.resolve(this.local.holders(page));
  }

  async releaseToken(key: LockKey, token: string): Promise<void> {
    const grant = this.grantOf(key, token);
    if (grant === undefined) throw await this.wrongToken(key, 'release');
    this.attached.endGrant(grant, 'revoked', 'RELEASED_BY_TOKEN');
    if (this.release(grant) === 'lost') throw await this.wrongToken(key, 'release');
  }

  async extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    const grant = this.grantOf(key, token);
    if (grant === undefined) throw await this.wrongToken(key, 'extend');
    if (ttlMs > grant.lease.ms) {
      throw new InvalidOptionError(
        `ttlMs must be at most the session's lease of ${grant.lease.ms} ms, got ${ttlMs}`,
        {
          option: 'ttlMs',
          value: ttlMs,
        },
      );
    }
    if (this.renewOne(grant.lease).outcome === 'gone') throw await this.wrongToken(key, 'extend');
  }

  close(): Promise<boolean> {
    for (const session of this.sessions) this.end(session);
    return Promise.resolve(true);
  }

  get tokens(): TokenBook {
    return this.book ?? notAttached();
  }

  private get attached(): DriverHost {
    return this.host ?? notAttached();
  }

  /** The store's time of a reading made in this turn. */
  private storeMs(now: Instant): number {
    return this.oneClock ? now.monoMs : this.local.clock.monoMs();
  }

  private over(lock: LocalLock, nowMs: number): void {
    if (lock.over) return;
    lock.end();
    lock.session.leave(nowMs);
  }

  private session(leaseMs: number, key: LockKey, now: Instant): LocalSession {
    const known = this.sessions.find((session) => session.leaseMs === leaseMs);
    if (known !== undefined && known.lease.aliveAt(now)) {
      known.join();
      return known;
    }
    if (known !== undefined) this.end(known);
    return this.openSession(leaseMs, key, now);
  }

  private openSession(leaseMs: number, key: LockKey, sentAt: Instant): LocalSession {
    const host = this.attached;
    const { clientName } = host.settings;
    const answer = this.local.apply({
      type: 'open-session',
      sessionId: `sess_${host.random.id()}`,
      leaseMs,
      local: true,
      ...(clientName === undefined ? undefined : { client: clientName }),
    });
    if (answer.type !== 'session')
      throw this.unavailable(key, answer.type === 'refused' ? answer.refusal.why : 'session-ended');
    const lease = host.openLease({
      id: answer.sessionId,
      askedMs: leaseMs,
      grantedMs: answer.leaseMs,
      sentAt,
    });
    const session = new LocalSession(answer.sessionId, leaseMs, lease, host.clock, (idle) => this.end(idle));
    session.ended = this.local.onSessionEnd(session.id, () => this.sessionEnded(session));
    session.revoked = this.local.onRevoked(session.id, (grant) => this.revoked(grant.holder as LocalLock));
    this.sessions = this.sessions.concat(session);
    session.join();
    return session;
  }

  private sessionEnded(session: LocalSession): void {
    this.drop(session);
    this.attached.endLease(session.lease, 'session-gone', 'SESSION_GONE');
  }

  /** An operator ended it: the loss is performed in this call, before anyone else is granted. */
  private revoked(lock: LocalLock): void {
    this.over(lock, this.local.clock.monoMs());
    this.attached.endGrant(lock, 'revoked', 'REVOKED');
  }

  /** Ends a session by our own wish: nothing rests on it, or what did was lost. */
  private end(session: LocalSession): void {
    this.drop(session);
    session.lease.close();
    this.local.apply({ type: 'close-session', sessionId: session.id, reason: 'client_close' });
  }

  private drop(session: LocalSession): void {
    this.sessions = this.sessions.filter((known) => known !== session);
    session.stop();
  }

  private granted(lock: LocalLock, decidedAt: Instant | undefined): LocalLock {
    lock.decidedAt = decidedAt;
    return lock;
  }

  private refusedAtOnce({ key, session }: LocalLock, refusal: Refusal): DriverBusy {
    session.leave();
    return this.refused(key, refusal);
  }

  private refused(key: LockKey, refusal: Refusal): DriverBusy {
    if (refusal.why === 'busy') return this.busy(key);
    if (refusal.why === 'conflict') return { granted: false, conflict: true };
    throw this.unavailable(key, refusal.why === 'limit' ? refusal.limit : refusal.why);
  }

  private busy(key: LockKey): DriverBusy {
    const [holder] = this.local.inspect(key).holders;
    return holder === undefined ? BUSY : { granted: false, holder: holder.client ?? holder.session };
  }

  private unavailable(key: LockKey, why: string): LockUnavailableError {
    const storeCode = why.toUpperCase().replaceAll('-', '_');
    return new LockUnavailableError(`${formatKey(key)} cannot be granted: ${why}`, {
      key,
      operation: 'acquire',
      storeCode,
    });
  }

  private wait(lock: LocalLock, request: DriverAcquire): Promise<DriverGrant | DriverBusy> | Later {
    const { signal } = request;
    const asker = (lock.asker = askerOf(request));
    if (signal !== undefined) lock.listening = onAbort(signal, (reason) => this.abort(lock, reason));
    return laterOf(asker);
  }

  /** The store's answer to a lock that had to wait. */
  answered(lock: LocalLock, answer: LateAnswer): void {
    const asker = this.takeAsker(lock);
    // Its caller gave up in the turn in which it was granted.
    if (asker === undefined) return this.giveBack(lock, answer);
    if (answer.type === 'granted') return asker.settle(this.granted(lock, this.releasedAt));
    lock.session.leave();
    try {
      asker.settle(this.refused(lock.key, answer.refusal));
    } catch (error) {
      asker.fail(error);
    }
  }

  private abort(lock: LocalLock, reason: unknown): void {
    const asker = this.takeAsker(lock);
    if (asker === undefined) return;
    this.local.apply({ type: 'cancel-call', callId: lock });
    lock.session.leave();
    asker.fail(abortedError(lock.key, reason));
  }

  /** It waits no longer: who has to be told, once. */
  private takeAsker(lock: LocalLock): Asker | undefined {
    const { asker } = lock;
    lock.asker = undefined;
    lock.listening?.[Symbol.dispose]();
    return asker;
  }

  private giveBack({ grant }: LocalLock, answer: LateAnswer): void {
    if (answer.type === 'granted') this.local.apply({ type: 'release-grant', grant });
  }

  private renewOne(lease: KeptLease): RenewReply {
    const answer = this.local.apply({ type: 'renew-session', sessionId: lease.id });
    if (answer.type === 'session') return { outcome: 'renewed', grantedMs: answer.leaseMs };
    return { outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' };
  }

  /** A token proves the grant of its own key only. */
  private grantOf(key: LockKey, token: string): LocalLock | undefined {
    const grant = this.tokens.get(token);
    return grant !== undefined && isSameKey(grant.key, key) ? grant : undefined;
  }

  private sessionOf(lease: KeptLease): LocalSession | undefined {
    return this.sessions.find((session) => session.lease === lease);
  }

  private async wrongToken(
    key: LockKey,
    operation: 'release' | 'extend',
  ): Promise<LockNotHeldError | InvalidTokenError> {
    const { locked } = await this.inspect(key);
    if (locked)
      return new InvalidTokenError(`the token is not that of the grant of ${formatKey(key)}`, {
        key,
        operation,
      });
    return new LockNotHeldError(`${formatKey(key)} is not held`, { key, operation });
  }
}

function notAttached(): never {
  throw new BackendStateError('the memory driver is used before createKlock attached it');
}
