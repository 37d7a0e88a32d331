import {
  BackendStateError,
  InvalidOptionError,
  LATER,
  LinkedList,
  LockUnavailableError,
  SlotMap,
  isSameKey,
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
  type LockReport,
  type ReleaseReader,
  type RenewReply,
  type RevokeOptions,
  type RevokeReport,
} from '../../core/index.js';
import { linkTo, type RedisClientLike, type RedisLink } from '../../redis-client/index.js';
import { Acquaintance } from './acquaintance.js';
import { AcquireCall } from './acquire-call.js';
import { Background } from './background.js';
import { inspectKey } from './inspect-call.js';
import { treeName } from './key-names.js';
import { probeQuestion } from './operations.js';
import { backoffMs, pause } from './pause.js';
import { RedisGrant } from './redis-grant.js';
import { resolveRedisOptions, type RedisDriverOptions, type ResolvedRedisOptions } from './redis-options.js';
import type { RedisSession } from './redis-session.js';
import { ReleaseCall } from './release-call.js';
import { extendGrant, renewLeases } from './renew-call.js';
import { revokeKey } from './revoke-call.js';
import { ScriptCalls } from './script-calls.js';
import { StoreTime } from './store-time.js';
import { extendByToken, releaseByToken } from './token-calls.js';
import { WaitingRoom } from './waiting-room.js';

const CAPABILITIES: Capabilities = {
  fence: 'durable',
  fair: true,
  wakeUp: 'push',
  hierarchy: true,
  extend: 'ttl',
  lease: 'grant',
  leaseUnitMs: 1,
  byToken: 'anyone',
  inspect: 'all',
  atLeast: true,
  revoke: true,
  // Only as far as Redis's own persistence goes, which this side cannot know.
  survivesRestart: false,
};

/** A health probe that takes longer is no sign of health. */
const HEALTH_MS = 2_000;
/** A key of nobody: where `ready()` and `health()` run their probe. */
const PROBED_KEY = 'klock-probe';

/** Locks in a Redis of yours. */
export class RedisDriver implements LockDriver {
  readonly name = 'redis';
  readonly capabilities = CAPABILITIES;
  readonly store: string;
  private readonly options: ResolvedRedisOptions;
  private readonly link: RedisLink;
  private attached: RedisSession | undefined = undefined;

  /** @throws InvalidOptionError; nothing is contacted. */
  constructor(client: RedisClientLike, options: RedisDriverOptions = {}) {
    this.options = resolveRedisOptions(client, options);
    this.link = linkTo(client);
    if (this.options.replicas !== undefined && this.link.waitForReplicas === undefined)
      throw optionError(
        'replicas',
        'left out with a Sentinel client of node-redis: it does not say which connection wrote',
        options.replicas,
      );
    this.store = `redis:${this.options.storeName ?? `${this.link.address}:${this.options.prefix}`}`;
  }

  attach(host: DriverHost): void {
    if (this.attached !== undefined) {
      throw new InvalidOptionError(
        'this Redis driver already belongs to an instance; make another over the same client',
        { option: 'driver', value: this.name },
      );
    }
    const channel = `${this.options.prefix}wake:${host.random.id()}`;
    const waiting = new WaitingRoom(this.link, host, channel);
    const header = { channel, label: host.settings.clientName ?? '', fencing: this.options.fencing };
    const calls = new ScriptCalls(this.link, host.clock, new StoreTime(host.clock), header, {
      woken: (ids) => waiting.wake(ids),
      reachable: (is, cause) => host.storeState(is ? 'available' : 'unavailable', cause),
    });
    this.attached = {
      host,
      options: this.options,
      calls,
      acquaintance: new Acquaintance(calls, host, this.options),
      waiting,
      background: new Background((limit) => {
        const text = `${limit} locks wait to be given back to Redis: further ones are left to their expiry`;
        host.warn('REDIS_GIVE_BACK_FULL', text);
      }),
      unsettled: new LinkedList(),
      grants: new SlotMap(),
    };
  }

  async ready(timeoutMs: number): Promise<void> {
    const { acquaintance, host } = this.session;
    const tree = this.probedTree;
    const endMs = host.clock.monoMs() + timeoutMs;
    for (let failures = 0; ; failures++) {
      if (acquaintance.knows(tree)) return;
      const met = await acquaintance.meet(tree, endMs, {});
      if (met.type === 'answered') return;
      if (met.type === 'refused' && !met.passing) throw met.error;
      if (host.clock.monoMs() >= endMs || this.link.state === 'closed') {
        if (met.type === 'refused') throw met.error;
        throw new LockUnavailableError(
          `Redis at ${this.link.address} did not answer within ${timeoutMs} ms`,
          {
            cause: met.cause,
          },
        );
      }
      await pause(host.clock, backoffMs(failures, host.random));
    }
  }

  /** Runs a real script, not only PING, and judges what it found: a server that answers may still refuse every lock (case B-040). */
  async health(): Promise<DriverHealth> {
    const { acquaintance, calls, host } = this.session;
    const startMs = host.clock.monoMs();
    const answer = await calls.ask(probeQuestion(this.probedTree, {}), startMs + HEALTH_MS);
    const tookMs = host.clock.monoMs() - startMs;
    const refused =
      answer.type === 'answered' ? acquaintance.judge(this.probedTree, answer.value, {}) : answer;
    if (refused === undefined) return { state: 'ok', tookMs };
    if (refused.type === 'refused')
      return {
        state: refused.passing ? 'unreachable' : 'misconfigured',
        tookMs,
        detail: refused.error.message,
      };
    const { cause } = refused;
    return { state: 'unreachable', detail: cause instanceof Error ? cause.message : String(cause) };
  }

  acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> | Later {
    return new AcquireCall(this.session, request).run();
  }

  abortWaits(reason: unknown): void {
    for (const call of [...this.session.unsettled]) call.aborted(reason);
  }

  release(
    grant: DriverGrant,
    options?: { readonly keepMs?: number },
    now?: Instant,
    reader?: ReleaseReader,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later {
    if (!(grant instanceof RedisGrant)) return 'lost';
    this.drop(grant);
    const call = new ReleaseCall(this.session, grant, 'release', options?.keepMs, now?.monoMs);
    if (reader === undefined) return call.run();
    call.begin(reader);
    return LATER;
  }

  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    return renewLeases(this.session, leases, timeoutMs);
  }

  async extend(grant: DriverGrant, ttlMs: number, timeoutMs: number): Promise<RenewReply> {
    if (!(grant instanceof RedisGrant))
      return { outcome: 'failed', cause: new TypeError('not a grant of this driver') };
    return await extendGrant(this.session, grant, ttlMs, timeoutMs);
  }

  /** Lost by the client's own clock: nobody may be kept waiting for what its holder has given up (WD-02). */
  abandon(lease: KeptLease): void {
    const { session } = this;
    const grant = session.grants.get(lease.id);
    if (grant === undefined) return;
    this.drop(grant);
    session.background.run(() => new ReleaseCall(session, grant, 'release').run());
  }

  inspect(key: LockKey): Promise<LockReport> {
    return inspectKey(this.session, key);
  }

  revoke(key: LockKey, options: RevokeOptions): Promise<RevokeReport> {
    return revokeKey(this.session, key, options, (grant) => this.drop(grant));
  }

  async releaseToken(key: LockKey, token: string): Promise<void> {
    const { session } = this;
    for (const grant of session.grants.values()) {
      if (grant.token !== token || !isSameKey(grant.key, key)) continue;
      // Our own: the handle says so before the store frees it.
      session.host.endGrant(grant, 'revoked', 'RELEASED_BY_TOKEN');
      this.drop(grant);
    }
    await releaseByToken(session, key, token);
  }

  extendToken(key: LockKey, token: string, ttlMs: number): Promise<void> {
    return extendByToken(this.session, key, token, ttlMs);
  }

  async close(timeoutMs: number): Promise<boolean> {
    const { session } = this;
    const { background, host } = session;
    await Promise.race([background.done(), pause(host.clock, timeoutMs)]);
    const isTold = background.size === 0;
    background.stop();
    session.waiting.close();
    session.acquaintance.stop();
    session.calls.stop();
    this.link.detach();
    return isTold;
  }

  private get session(): RedisSession {
    if (this.attached === undefined)
      throw new BackendStateError('the Redis driver is used before createKlock attached it');
    return this.attached;
  }

  private get probedTree(): string {
    return treeName(this.options.prefix, PROBED_KEY);
  }

  private drop(grant: RedisGrant): void {
    this.session.grants.delete(grant.lease.id);
    grant.lease.close();
  }
}
