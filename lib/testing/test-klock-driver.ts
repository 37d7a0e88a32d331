import {
  LockUnavailableError,
  formatKey,
  type Capabilities,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHealth,
  type DriverHost,
  type KeptLease,
  type LockDriver,
  type LockHandle,
  type LockKey,
  type LockReport,
  type HolderPage,
  type LossReason,
  type PageOptions,
  type RenewReply,
  type RevokeOptions,
  type RevokeReport,
} from '../core/index.js';
import { MemoryDriver, type LocalStore } from '../drivers/memory/index.js';

/** A call whose reply can be lost on its way back. */
export type DroppedCall = 'acquire' | 'release' | 'renew';

type Reply = DriverGrant | DriverBusy;

/** How much longer than anybody waits for it the answer to a release is under way once it was dropped. */
const LATE_FACTOR = 2;

/** The in-process driver with the faults a test asks for in front of it. The store behind is the real one. */
export class TestKlockDriver implements LockDriver {
  readonly name = 'memory';
  renewalsPaused = false;
  /** The next call of this kind gets no reply. */
  dropNext: DroppedCall | 'any' | undefined = undefined;
  private readonly inner: MemoryDriver;
  /** By token: what handles were made of. */
  private readonly live = new Map<string, DriverGrant>();
  private host!: DriverHost;

  constructor(local: LocalStore) {
    this.inner = new MemoryDriver(local);
  }

  get store(): string {
    return this.inner.store;
  }

  get capabilities(): Capabilities {
    return this.inner.capabilities;
  }

  attach(host: DriverHost): void {
    this.inner.attach(host);
    this.host = host;
  }

  /** Ends the grant behind a handle as a store would, and frees its key; false if this driver made no such handle. */
  lose(handle: LockHandle, reason: LossReason, code: string): boolean {
    const grant = this.live.get(handle.token);
    if (grant === undefined) return false;
    this.host.endGrant(grant, reason, code);
    this.giveBack(grant);
    return true;
  }

  acquire(request: DriverAcquire): Reply | Promise<Reply> {
    const dropped = this.takeDrop('acquire');
    const reply = this.inner.acquire(answeredByPromise(request)) as Reply | Promise<Reply>;
    if ('then' in reply) return reply.then((late) => this.answer(request, late, dropped));
    return this.answer(request, reply, dropped);
  }

  release(
    grant: DriverGrant,
    options?: { readonly keepMs?: number },
  ): DefiniteRelease | Promise<DefiniteRelease> {
    const dropped = this.takeDrop('release');
    const outcome = this.giveBack(grant, options);
    return dropped ? this.later(outcome) : outcome;
  }

  async renew(leases: readonly KeptLease[]): Promise<readonly RenewReply[]> {
    if (this.renewalsPaused) return failed(leases, 'renewals are paused by the test');
    const dropped = this.takeDrop('renew');
    const replies = await this.inner.renew(leases);
    return dropped ? failed(leases, 'the reply was dropped by the test') : replies;
  }

  ready(): Promise<void> {
    return this.inner.ready();
  }

  health(): Promise<DriverHealth> {
    return this.inner.health();
  }

  abandon(lease: KeptLease): void {
    this.inner.abandon(lease);
  }

  inspect(key: LockKey): Promise<LockReport> {
    return this.inner.inspect(key);
  }

  revoke(key: LockKey, options: RevokeOptions): Promise<RevokeReport> {
    return this.inner.revoke(key, options);
  }

  holders(page: PageOptions): Promise<HolderPage> {
    return this.inner.holders(page);
  }

  releaseToken(key: LockKey, token: string): Promise<void> {
    return this.inner.releaseToken(key, token);
  }

  extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    return this.inner.extendToken(key, token, ttlMs);
  }

  close(): Promise<boolean> {
    return this.inner.close();
  }

  private answer(request: DriverAcquire, reply: Reply, dropped: boolean): Reply {
    if (!dropped) {
      if (reply.granted) this.live.set(reply.token, reply);
      return reply;
    }
    // The caller never learns of the grant, so it goes back: what every driver does about an uncertain answer.
    if (reply.granted) this.giveBack(reply);
    throw new LockUnavailableError(`${formatKey(request.key)}: the reply was dropped by the test`, {
      key: request.key,
      operation: 'acquire',
    });
  }

  private giveBack(grant: DriverGrant, options?: { readonly keepMs?: number }): DefiniteRelease {
    this.live.delete(grant.token);
    return this.inner.release(grant, options);
  }

  private later(outcome: DefiniteRelease): Promise<DefiniteRelease> {
    const { clock, settings } = this.host;
    return new Promise((resolve) => {
      clock.after(settings.releaseTimeoutMs * LATE_FACTOR, () => resolve(outcome));
    });
  }

  private takeDrop(call: DroppedCall): boolean {
    if (this.dropNext !== call && this.dropNext !== 'any') return false;
    this.dropNext = undefined;
    return true;
  }
}

function failed(leases: readonly KeptLease[], why: string): readonly RenewReply[] {
  return leases.map(() => ({ outcome: 'failed', cause: new Error(why) }));
}

/** The same request of a caller that takes no late answer itself: all answers pass here. */
function answeredByPromise(request: DriverAcquire): DriverAcquire {
  return Object.create(request, { settle: { value: undefined } }) as DriverAcquire;
}
