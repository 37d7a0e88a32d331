import type {
  Capabilities,
  DefiniteRelease,
  DriverAcquire,
  DriverBusy,
  DriverGrant,
  DriverHealth,
  DriverHost,
  KeptLease,
  LockDriver,
  LockKey,
  LockReport,
  RenewReply,
} from '../../core/index.js';
import {
  BackendStateError,
  InvalidOptionError,
  InvalidTokenError,
  LockNotHeldError,
  LockUnavailableError,
  abortedError,
  formatKey,
  keyId,
  leaseLadder,
  onAbort,
  rungFor,
} from '../../core/index.js';
import type { CallId, Grant, Refusal } from '../../engine/index.js';
import type { LateAnswer, LocalStore } from './local-store.js';
import { LocalSession, type LocalGrant } from './local-session.js';

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
  survivesRestart: false,
};

const BUSY: DriverBusy = { granted: false };

/** Locks over an engine in this process: no network, the same rules. */
export class MemoryDriver implements LockDriver {
  readonly name = 'memory';
  readonly capabilities: Capabilities;
  private host: DriverHost | undefined;
  private ladder: readonly number[] = [];
  private readonly sessions = new Map<number, LocalSession>();
  /** What ends each call that waits. */
  private readonly waits = new Map<CallId, (reason: unknown) => void>();

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
    this.ladder = leaseLadder(host.settings.ttlMs);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Promise<DriverHealth> {
    return Promise.resolve({ state: this.local.condition });
  }

  acquire(request: DriverAcquire): DriverGrant | DriverBusy | Promise<DriverGrant | DriverBusy> {
    if (request.signal?.aborted === true) throw abortedError(request.key, request.signal.reason);
    const session = this.session(rungFor(this.ladder, request.ttlMs), request.key);
    const callId = this.local.newCallId();
    const answer = this.local.apply({
      type: 'acquire',
      callId,
      sessionId: session.id,
      requestId: String(callId),
      key: request.key,
      waitUntilMs: request.waitMs === 0 ? 0 : this.local.clock.monoMs() + request.waitMs,
      ...(request.metadata === undefined ? undefined : { metadata: request.metadata }),
    });
    if (answer.type === 'granted') return this.granted(session, answer.grant);
    if (answer.type === 'queued') return this.wait(session, callId, request);
    session.gaveUp();
    return this.refused(request.key, answer.refusal);
  }

  abortWaits(reason: unknown): void {
    for (const abort of [...this.waits.values()]) abort(reason);
  }

  release(grant: DriverGrant, options?: { readonly keepMs?: number }): DefiniteRelease {
    const { session } = grant as LocalGrant;
    const answer = this.local.apply({
      type: 'release',
      sessionId: session.id,
      token: grant.token,
      releaseId: grant.requestId,
      ...(options?.keepMs === undefined ? undefined : { keepMs: options.keepMs }),
    });
    session.drop(grant as LocalGrant);
    return answer.type === 'released' ? 'released' : 'lost';
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
    for (const session of this.sessions.values()) this.end(session);
    return Promise.resolve(true);
  }

  private get attached(): DriverHost {
    if (this.host === undefined)
      throw new BackendStateError('the memory driver is used before createKlock attached it');
    return this.host;
  }

  private session(leaseMs: number, key: LockKey): LocalSession {
    const known = this.sessions.get(leaseMs);
    if (known !== undefined && known.lease.alive) {
      known.wait();
      return known;
    }
    if (known !== undefined) this.end(known);
    return this.openSession(leaseMs, key);
  }

  private openSession(leaseMs: number, key: LockKey): LocalSession {
    const host = this.attached;
    const sentAt = host.clock.now();
    const { clientName } = host.settings;
    const answer = this.local.apply({
      type: 'open-session',
      sessionId: `sess_${host.random.id()}`,
      leaseMs,
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
    const session = new LocalSession(answer.sessionId, lease, host.clock, (idle) => this.end(idle));
    session.ended = this.local.onSessionEnd(session.id, () => this.sessionEnded(session, leaseMs));
    this.sessions.set(leaseMs, session);
    session.wait();
    return session;
  }

  private sessionEnded(session: LocalSession, leaseMs: number): void {
    if (this.sessions.get(leaseMs) === session) this.sessions.delete(leaseMs);
    session.stop();
    this.attached.endLease(session.lease, 'session-gone', 'SESSION_GONE');
  }

  /** Ends a session by our own wish: nothing rests on it, or what did was lost. */
  private end(session: LocalSession): void {
    for (const [leaseMs, known] of this.sessions) if (known === session) this.sessions.delete(leaseMs);
    session.stop();
    session.lease.close();
    this.local.apply({ type: 'close-session', sessionId: session.id, reason: 'client_close' });
  }

  private granted(session: LocalSession, grant: Grant): LocalGrant {
    const local: LocalGrant = {
      granted: true,
      requestId: grant.requestId,
      key: grant.key,
      token: grant.token,
      fence: grant.fence,
      span: grant.span,
      lease: session.lease,
      session,
    };
    session.settled(local);
    return local;
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

  private wait(
    session: LocalSession,
    callId: CallId,
    request: DriverAcquire,
  ): Promise<DriverGrant | DriverBusy> {
    const { key, signal } = request;
    return new Promise((resolve, reject) => {
      const abort = (reason: unknown): void => {
        this.waits.delete(callId);
        this.local.offAnswer(callId);
        this.takeBack(session, callId);
        reject(abortedError(key, reason));
      };
      const listening = signal === undefined ? undefined : onAbort(signal, abort);
      this.waits.set(callId, abort);
      this.local.onAnswer(callId, (answer) => {
        this.waits.delete(callId);
        listening?.[Symbol.dispose]();
        this.settle(session, key, answer, resolve, reject);
      });
    });
  }

  private settle(
    session: LocalSession,
    key: LockKey,
    answer: LateAnswer,
    resolve: (reply: DriverGrant | DriverBusy) => void,
    reject: (error: unknown) => void,
  ): void {
    if (answer.type === 'granted') return resolve(this.granted(session, answer.grant));
    session.gaveUp();
    try {
      resolve(this.refused(key, answer.refusal));
    } catch (error) {
      reject(error);
    }
  }

  private takeBack(session: LocalSession, callId: CallId): void {
    this.local.apply({ type: 'cancel-request', sessionId: session.id, requestId: String(callId) });
    session.gaveUp();
  }

  private renewOne(lease: KeptLease): RenewReply {
    const answer = this.local.apply({ type: 'renew-session', sessionId: lease.id });
    if (answer.type === 'session') return { outcome: 'renewed', grantedMs: answer.leaseMs };
    return { outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' };
  }

  /** A token proves the grant of its own key only. */
  private grantOf(key: LockKey, token: string): LocalGrant | undefined {
    for (const session of this.sessions.values()) {
      const grant = session.grants.get(token);
      if (grant !== undefined) return keyId(grant.key) === keyId(key) ? grant : undefined;
    }
    return undefined;
  }

  private sessionOf(lease: KeptLease): LocalSession | undefined {
    for (const session of this.sessions.values()) if (session.lease === lease) return session;
    return undefined;
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
