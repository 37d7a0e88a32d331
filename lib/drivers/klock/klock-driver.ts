import {
  abortedError,
  BackendStateError,
  ClosedError,
  formatKey,
  InvalidOptionError,
  InvalidTokenError,
  isSameKey,
  LockNotHeldError,
  LockUnavailableError,
  optionError,
  type Capabilities,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHealth,
  type DriverHost,
  type Instant,
  type KeptLease,
  type Later,
  type LockDriver,
  type LockKey,
  type LockOperation,
  type HolderPage,
  type LockReport,
  type PageOptions,
  type ReleaseReader,
  type RenewReply,
  type RevokeOptions,
  type RevokeReport,
} from '../../core/index.js';
import {
  ChannelClient,
  errorOfOutcome,
  resolveClientOptions,
  type ClientOptions,
  type ResolvedClientOptions,
} from '../../client/index.js';
import { HandoverDriver } from '../kit/index.js';
import { checkHealth } from './health-check.js';

/** How the klock driver reaches its server and keeps its sessions; see {@link ClientOptions}. */
export type KlockDriverOptions = ClientOptions;

const CAPABILITIES: Capabilities = {
  fence: 'durable',
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

/** How long the server may take to say who holds what, or to end it. */
const INSPECT_TIMEOUT_MS = 5_000;

/**
 * Locks of a klock server. Connects at the first lock, or at `ready()`.
 * @throws InvalidOptionError at once, naming the option and its value; nothing is sent before.
 */
export function klockDriver(options: KlockDriverOptions): LockDriver {
  const driver = new KlockDriver(resolveClientOptions(options));
  // The six calls know no spans, and their waiters queue on the server: nothing is passed on until a channel was met.
  return new HandoverDriver(driver, () => driver.passesOn);
}

class KlockDriver implements LockDriver {
  readonly name = 'klock';
  readonly store: string;
  readonly capabilities = CAPABILITIES;
  private client: ChannelClient | undefined = undefined;
  private host: DriverHost | undefined = undefined;

  constructor(private readonly options: ResolvedClientOptions) {
    this.store = `klock:${options.targets.map(({ text }) => text).join(',')}`;
  }

  attach(host: DriverHost): void {
    if (this.client !== undefined) {
      throw new InvalidOptionError('driver belongs to an instance already: make one klock driver for each', {
        option: 'driver',
        value: this.name,
      });
    }
    this.client = new ChannelClient(this.options, host);
    this.host = host;
  }

  async ready(timeoutMs: number): Promise<void> {
    const problem = await this.attached.reach(timeoutMs);
    if (this.attached.isClosed) throw new ClosedError('the klock driver is closed');
    if (problem !== undefined) throw errorOfOutcome(problem);
  }

  async health(): Promise<DriverHealth> {
    const { client, host } = this;
    if (client === undefined || host === undefined || client.isClosed) {
      return { state: 'unreachable', detail: 'the driver is closed or not attached' };
    }
    return await checkHealth(client, host);
  }

  acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> | Later {
    if (request.signal?.aborted === true)
      return Promise.reject(abortedError(request.key, request.signal.reason));
    return this.attached.acquire(request);
  }

  release(
    grant: DriverGrant,
    options?: { readonly keepMs?: number },
    _now?: Instant,
    reader?: ReleaseReader,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later {
    return this.attached.release(grant, options?.keepMs, reader);
  }

  /** Whether grants may be passed on inside the process: they have spans on a channel only. */
  get passesOn(): boolean {
    return this.client?.speech === 'channel';
  }

  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    return this.attached.renew(leases, timeoutMs);
  }

  abortWaits(reason: unknown): void {
    this.attached.abortWaits(reason);
  }

  abandon(lease: KeptLease, code: string): void {
    this.attached.abandon(lease, code);
  }

  inspect(key: LockKey): Promise<LockReport> {
    return this.attached.inspect(key, INSPECT_TIMEOUT_MS);
  }

  async revoke(key: LockKey, options: RevokeOptions): Promise<RevokeReport> {
    return await this.open('revoke').operator.revoke(key, options, INSPECT_TIMEOUT_MS);
  }

  async holders(page: PageOptions): Promise<HolderPage> {
    return await this.open('inspect').operator.holders(page, INSPECT_TIMEOUT_MS);
  }

  async releaseToken(key: LockKey, token: string): Promise<void> {
    const grant = this.grantFor(key, token, 'release');
    this.host?.endGrant(grant, 'revoked', 'RELEASED_BY_TOKEN');
    if ((await this.attached.release(grant)) === 'lost') throw notHeld(key, 'release');
  }

  async extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    const { lease } = this.grantFor(key, token, 'extend');
    if (ttlMs > lease.ms) {
      throw optionError('ttlMs', `at most the session's lease of ${lease.ms} ms`, ttlMs);
    }
    const [reply] = await this.renew([lease], lease.ms);
    if (reply?.outcome === 'renewed') return;
    // What the store said is the loss of everything on this lease, not of this call alone.
    if (reply?.outcome === 'gone') {
      this.host?.endLease(lease, reply.reason, reply.code);
      throw notHeld(key, 'extend');
    }
    throw new LockUnavailableError(`the lock server did not extend ${formatKey(key)}`, {
      key,
      operation: 'extend',
      cause: reply?.cause,
    });
  }

  close(timeoutMs: number): Promise<boolean> {
    return this.client?.close(timeoutMs) ?? Promise.resolve(true);
  }

  private open(operation: LockOperation): ChannelClient {
    if (this.attached.isClosed) throw new ClosedError('the klock driver is closed', { operation });
    return this.attached;
  }

  private get attached(): ChannelClient {
    if (this.client === undefined)
      throw new BackendStateError('the klock driver is used before createKlock attached it');
    return this.client;
  }

  /** Tokens work in the client that acquired: the server takes one only from the session it belongs to (K-093). */
  private grantFor(key: LockKey, token: string, operation: 'release' | 'extend'): DriverGrant {
    const grant = this.attached.grantOf(token);
    if (grant !== undefined && isSameKey(grant.key, key)) return grant;
    for (const other of this.attached.grants()) {
      if (!isSameKey(other.key, key)) continue;
      throw new InvalidTokenError(`the token is not that of the grant of ${formatKey(key)}`, {
        key,
        operation,
      });
    }
    throw notHeld(key, operation);
  }
}

function notHeld(key: LockKey, operation: 'release' | 'extend'): LockNotHeldError {
  return new LockNotHeldError(`${formatKey(key)} is not held through this client`, { key, operation });
}
