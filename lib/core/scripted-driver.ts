import type { Instant } from './clock.js';
import type {
  Capabilities,
  DriverAcquire,
  DriverGrant,
  DriverHealth,
  DriverHost,
  KeptLease,
  LockDriver,
  ReleaseReader,
  RenewReply,
} from './lock-driver.js';
import type { LockReport } from './lock-report.js';
import type { LockKey } from './lock-key.js';

/**
 * A driver whose answers the test writes: one session lease, grants on demand, renewals and releases as told.
 * It stands in for a store only where a fault cannot be produced with a real one.
 */
export class ScriptedDriver implements LockDriver {
  readonly name = 'scripted';
  readonly store = 'scripted:1';
  readonly capabilities: Capabilities;
  host!: DriverHost;
  lease: KeptLease | undefined = undefined;
  renewals = 0;
  released: string[] = [];
  abandoned: string[] = [];
  closes = 0;
  grantedMs: number | undefined = undefined;
  sentAt: Instant | undefined = undefined;
  renewed: boolean | undefined = undefined;
  onAcquire: (request: DriverAcquire) => ReturnType<LockDriver['acquire']> = (request) => this.grant(request);
  onRenew: (lease: KeptLease, timeoutMs: number) => RenewReply | Promise<RenewReply> = (lease) => ({
    outcome: 'renewed',
    grantedMs: lease.ms,
  });
  onRelease: (grant: DriverGrant, reader?: ReleaseReader) => ReturnType<LockDriver['release']> = () =>
    'released';
  onClose: () => boolean | Promise<boolean> = () => true;
  private fences = 0n;

  constructor(capabilities: Partial<Capabilities> = {}) {
    this.capabilities = {
      fence: 'process',
      fair: true,
      wakeUp: 'push',
      hierarchy: true,
      extend: 'renew',
      lease: 'session',
      leaseUnitMs: 1,
      byToken: 'session',
      inspect: 'none',
      atLeast: false,
      revoke: false,
      survivesRestart: false,
      ...capabilities,
    };
  }

  attach(host: DriverHost): void {
    this.host = host;
  }

  /** A grant on the current lease, opening one if there is none alive. */
  grant(request: DriverAcquire): DriverGrant {
    if (this.lease?.alive !== true) this.lease = this.openLease(request.ttlMs);
    const fence = this.fences + 1n;
    const span = request.span ?? 1;
    this.fences += BigInt(span);
    return {
      granted: true,
      requestId: request.requestId,
      key: request.key,
      token: `token-${fence}`,
      fence,
      span,
      lease: this.lease,
    };
  }

  openLease(askedMs: number): KeptLease {
    return this.host.openLease({
      id: `lease-${this.fences + 1n}`,
      askedMs,
      grantedMs: this.grantedMs ?? askedMs,
      sentAt: this.sentAt ?? this.host.clock.now(),
      ...(this.renewed === undefined ? undefined : { renewed: this.renewed }),
    });
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  health(): Promise<DriverHealth> {
    return Promise.resolve({ state: 'ok' });
  }

  acquire(request: DriverAcquire): ReturnType<LockDriver['acquire']> {
    return this.onAcquire(request);
  }

  release(
    grant: DriverGrant,
    _options?: object,
    _now?: Instant,
    reader?: ReleaseReader,
  ): ReturnType<LockDriver['release']> {
    this.released.push(grant.token);
    return this.onRelease(grant, reader);
  }

  async renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    this.renewals++;
    return await Promise.all(leases.map(async (lease) => await this.onRenew(lease, timeoutMs)));
  }

  abandon(lease: KeptLease, code: string): void {
    this.abandoned.push(`${lease.id} ${code}`);
  }

  inspect(key: LockKey): Promise<LockReport> {
    return Promise.resolve({ key, locked: false, holders: [], waiters: [], waiterCount: 0 });
  }

  releaseToken(): Promise<void> {
    return Promise.resolve();
  }

  extendToken(): Promise<void> {
    return Promise.resolve();
  }

  async close(): Promise<boolean> {
    this.closes++;
    return await this.onClose();
  }
}
