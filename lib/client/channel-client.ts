import { Metadata } from '@grpc/grpc-js';
import {
  pause,
  BackendStateError,
  ClosedError,
  InvalidOptionError,
  LATER,
  leaseLadder,
  rungFor,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHost,
  type KeptLease,
  type Later,
  type LockKey,
  type LockReport,
  type ReleaseReader,
  type RenewReply,
} from '../core/index.js';
import { checkSessionLease, sessionLeaseFor } from './session-lease.js';
import { AUTHORIZATION } from '../rpc/index.js';
import {
  endByWatch,
  errorOfOutcome,
  PROTOCOL_END,
  ServerHistory,
  type NoAnswer,
  type SessionEnd,
} from '../session/index.js';
import { Background } from './background.js';
import { ChannelAcquire, copyOf, type ChannelAcquireHost } from './channel-acquire.js';
import { ChannelGrant } from './channel-grant.js';
import { ChannelInspect } from './channel-inspect.js';
import { ChannelOpener } from './channel-opener.js';
import { ChannelRelease } from './channel-release.js';
import { ChannelSession, type ChannelSessionHost } from './channel-session.js';
import type { ResolvedClientOptions } from './client-options.js';
import { Connection } from './connection.js';
import { Hooks } from './hooks.js';
import type { LiveSession } from './live-session.js';
import { LockClient } from './lock-client.js';
import { LockService } from './lock-service.js';
import { OperatorCalls } from './operator-calls.js';
import { ownHost } from './own-host.js';
import { RemoteCloses } from './remote-close.js';
import { isSession, SessionSlot } from './session-slot.js';
import type { StoreClient } from './store-client.js';

/** How the server at the other end is spoken to: known once it was met. */
export type Speech = 'unknown' | 'channel' | 'six-calls';

/**
 * The client of one lock server over channels, one for each lease length in use, all on one connection. A server that
 * knows no channel is spoken to with the six calls, for as long as it is the same server process.
 */
export class ChannelClient implements StoreClient {
  readonly service: LockService;
  speech: Speech = 'unknown';
  lastWord: string | undefined = undefined;
  private readonly connection: Connection;
  private readonly opener: ChannelOpener;
  readonly operator: OperatorCalls;
  private readonly slots = new Map<number, SessionSlot>();
  private readonly byTtl = new Map<number, SessionSlot>();
  private readonly ladder: readonly number[];
  private readonly channels = new Map<LiveSession, ChannelSession>();
  private readonly byLease = new Map<KeptLease, ChannelSession>();
  private readonly background: Background;
  private readonly remoteCloses: RemoteCloses;
  private readonly servers = new ServerHistory();
  private readonly closing = new Hooks();
  private readonly reaching = new Set<ChannelAcquire>();
  /** Ends waits that are made with the six calls. */
  private readonly waitsEnd = new AbortController();
  private readonly acquireHost: ChannelAcquireHost;
  private readonly sessionHost: ChannelSessionHost;
  private six: LockClient | undefined = undefined;
  /** The server that knows no channel. */
  private withoutChannel = '';

  constructor(
    private readonly options: ResolvedClientOptions,
    private readonly host: DriverHost,
  ) {
    const { clock, random, settings } = host;
    checkSessionLease(this.options, this.host.settings.ttlMs);
    this.ladder = leaseLadder(settings.ttlMs);
    this.background = new Background((cause) =>
      host.warn('INTERNAL', 'a background task of the client failed', cause),
    );
    this.connection = new Connection({ ...options, ttlMs: settings.ttlMs }, clock, random, (state, cause) =>
      host.storeState(state, cause),
    );
    const metadata = new Metadata();
    if (options.authToken !== undefined) metadata.set(AUTHORIZATION, `Bearer ${options.authToken}`);
    const { connectTimeoutMs } = options;
    this.service = new LockService({ clock, connection: this.connection, metadata, connectTimeoutMs });
    this.opener = new ChannelOpener(
      this.service,
      this.connection,
      clock,
      metadata,
      settings.clientName ?? '',
      ownHost(),
    );
    this.operator = new OperatorCalls(this.service, settings.clientName ?? ownHost());
    this.remoteCloses = new RemoteCloses(this.service, clock, random);
    this.acquireHost = this.makeAcquireHost();
    this.sessionHost = this.makeSessionHost();
  }

  get isClosed(): boolean {
    return this.closing.fired;
  }

  acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> | Later {
    if (this.isClosed)
      return Promise.reject(new ClosedError('the klock driver is closed', { key: request.key }));
    if (this.speech === 'six-calls') return this.acquireBySixCalls(request);
    return new ChannelAcquire(this.acquireHost, this.slotFor(request.ttlMs), request).reply;
  }

  /** Ends every acquire under way, as its own signal would. */
  abortWaits(reason: unknown): void {
    for (const acquire of [...this.reaching]) acquire.abort(reason);
    for (const channel of this.channels.values()) {
      for (const asker of channel.askers()) if (asker instanceof ChannelAcquire) asker.abort(reason);
    }
    this.waitsEnd.abort(reason);
  }

  /** Once per grant: whoever asks again gets the same answer. */
  release(
    grant: DriverGrant,
    keepMs = 0,
    reader?: ReleaseReader,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later {
    if (!(grant instanceof ChannelGrant)) return this.sixCalls.release(grant);
    if (grant.release === undefined && !grant.channel.session.grants.has(grant)) return 'lost';
    const release = (grant.release ??= new ChannelRelease(grant, keepMs));
    if (release.outcome !== undefined) return release.outcome;
    if (reader === undefined) return new Promise((resolve) => release.whenAnswered({ givenBack: resolve }));
    release.whenAnswered(reader);
    return LATER;
  }

  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    return Promise.all(leases.map((lease) => this.renewOne(lease, timeoutMs)));
  }

  abandon(lease: KeptLease, code: string): void {
    const channel = this.byLease.get(lease);
    if (channel === undefined) this.six?.abandon(lease, code);
    else this.slotOf(channel.session)?.over(channel.session, { reason: 'expired', code, tellServer: true });
  }

  grantOf(token: string): DriverGrant | undefined {
    for (const { session } of this.channels.values()) {
      const grant = session.grants.withToken(token);
      if (grant !== undefined) return grant;
    }
    return this.six?.grantOf(token);
  }

  *grants(): Iterable<DriverGrant> {
    for (const { session } of this.channels.values()) yield* session.grants.all();
    if (this.six !== undefined) yield* this.six.grants();
  }

  async reach(timeoutMs: number): Promise<NoAnswer | undefined> {
    if (this.isClosed) return { kind: 'unsent', cause: new ClosedError('the klock driver is closed') };
    if (this.speech === 'six-calls') return this.sixCalls.reach(timeoutMs);
    const slot = this.slotFor(this.host.settings.ttlMs);
    const { current } = slot;
    const session = await slot.session(timeoutMs, (wake) => this.closing.on(wake));
    if (!isSession(session)) return this.isSixCalls ? this.sixCalls.reach(timeoutMs) : session;
    if (session !== current) return undefined;
    const reply = await this.channels.get(session)?.renew(timeoutMs);
    if (reply?.outcome === 'renewed') return undefined;
    return {
      kind: 'unsent',
      cause: reply?.outcome === 'failed' ? reply.cause : new Error('the session ended'),
    };
  }

  async inspect(key: LockKey, timeoutMs: number): Promise<LockReport> {
    if (this.isClosed) throw new ClosedError('the klock driver is closed', { key, operation: 'inspect' });
    const session = this.isSixCalls
      ? undefined
      : await this.slotFor(this.host.settings.ttlMs).session(timeoutMs, (wake) => this.closing.on(wake));
    if (session === undefined || this.isSixCalls) throw cannotInspect(key);
    const channel = isSession(session) ? this.channels.get(session) : undefined;
    if (channel !== undefined)
      return new ChannelInspect(channel, key, this.host.clock.monoMs() + timeoutMs).report;
    const problem = isSession(session)
      ? { kind: 'unsent' as const, cause: new Error('the session ended') }
      : session;
    throw errorOfOutcome(problem, { key, operation: 'inspect' });
  }

  /**
   * Ends every session, after the holders, and the connection. True once the server has been told everything; false if it
   * was not within `timeoutMs`, and then it may be asked again.
   */
  async close(timeoutMs: number): Promise<boolean> {
    if (this.closing.fired) {
      this.background.add(this.remoteCloses.settle());
    } else {
      this.closing.fire();
      for (const slot of this.slots.values()) slot.feed({ type: 'close' });
    }
    const told = this.farewell(timeoutMs);
    let done = false;
    await pause(this.host.clock, timeoutMs, (wake) => {
      void told.then((all) => {
        done = all;
        wake();
      });
      return () => undefined;
    });
    return done;
  }

  private async farewell(timeoutMs: number): Promise<boolean> {
    const [, six] = await Promise.all([this.background.idle(), this.six?.close(timeoutMs) ?? true]);
    const all = this.remoteCloses.owing === 0 && six;
    if (all) this.connection.close();
    else this.connection.hangUp();
    return all;
  }

  private async renewOne(lease: KeptLease, timeoutMs: number): Promise<RenewReply> {
    const channel = this.byLease.get(lease);
    if (channel !== undefined) return channel.renew(timeoutMs);
    const [reply] = (await this.six?.renew([lease], timeoutMs)) ?? [];
    return reply ?? { outcome: 'failed', cause: new Error('the session is not current') };
  }

  private get isSixCalls(): boolean {
    return this.speech === 'six-calls';
  }

  private get sixCalls(): LockClient {
    this.six ??= new LockClient(this.options, this.host, {
      connection: this.connection,
      service: this.service,
      metServer: (serverId) => this.metWithout(serverId),
    });
    return this.six;
  }

  private acquireBySixCalls(request: DriverAcquire): Promise<DriverGrant | DriverBusy> {
    const signal = request.signal ?? this.waitsEnd.signal;
    if (request.keeps !== true) return this.sixCalls.acquire({ ...copyOf(request), signal });
    const message = 'atLeastMs needs a lock server with channels; this one speaks only the klock.v1 calls';
    return Promise.reject(
      new InvalidOptionError(message, {
        key: request.key,
        operation: 'acquire',
        option: 'atLeastMs',
        value: true,
      }),
    );
  }

  /** Another process answers now: it may know channels. */
  private metWithout(serverId: string): void {
    if (serverId === '' || serverId === this.withoutChannel) return;
    if (this.withoutChannel !== '' && this.speech === 'six-calls') this.speech = 'unknown';
    this.withoutChannel = serverId;
  }

  private slotFor(ttlMs: number): SessionSlot {
    const known = this.byTtl.get(ttlMs);
    if (known !== undefined) return known;
    const rungMs = rungFor(this.ladder, ttlMs);
    const slot = this.slots.get(rungMs) ?? this.makeSlot(rungMs);
    // Asked lengths are few in a program; were they not, looking them up is all that is lost.
    if (this.byTtl.size < MAX_TTLS) this.byTtl.set(ttlMs, slot);
    return slot;
  }

  private makeSlot(rungMs: number): SessionSlot {
    const slot: SessionSlot = new SessionSlot(
      sessionLeaseFor(this.options, this.host.settings.ttlMs, rungMs),
      {
        driverHost: this.host,
        service: {
          createSession: async (leaseMs) => {
            const outcome = await this.opener.createSession(leaseMs);
            if (outcome.kind === 'failed' && outcome.status === 'UNIMPLEMENTED') this.speech = 'six-calls';
            return outcome;
          },
        },
        idleSessionMs: this.options.idleSessionMs,
        opened: (session) => this.opened(session),
        metServer: (serverId) => this.metServer(serverId),
        otherProtocol: () => this.endAll(PROTOCOL_END),
        closeRemote: (session) => {
          this.opener.discard(session.sessionId);
          this.background.add(this.remoteCloses.close(session));
        },
        background: (work) => this.background.add(work),
      },
    );
    this.slots.set(rungMs, slot);
    return slot;
  }

  private opened(session: LiveSession): void {
    this.speech = 'channel';
    const channel = new ChannelSession(session, this.opener.claim(session.sessionId), this.sessionHost);
    this.channels.set(session, channel);
    this.byLease.set(session.lease, channel);
    session.over.on(() => {
      this.channels.delete(session);
      this.byLease.delete(session.lease);
    });
  }

  private slotOf(session: LiveSession): SessionSlot | undefined {
    for (const slot of this.slots.values()) if (slot.current === session) return slot;
    return undefined;
  }

  private metServer(serverId: string): void {
    if (!this.servers.meet(serverId)) return;
    this.host.warn(
      'SERVER_ALTERNATES',
      'several lock servers answer at this address, each with locks of its own: nothing excludes anything',
    );
  }

  private endAll(end: SessionEnd): void {
    for (const slot of this.slots.values()) if (slot.current !== undefined) slot.over(slot.current, end);
  }

  private makeAcquireHost(): ChannelAcquireHost {
    const { clock, random } = this.host;
    return {
      clock,
      random,
      closing: this.closing,
      connectTimeoutMs: this.options.connectTimeoutMs,
      reaching: this.reaching,
      alternating: () => this.servers.alternating,
      channelOf: (session) => this.channels.get(session),
      storeSaid: (code) => (this.lastWord = code),
      elsewhere: (request) => (this.isSixCalls ? this.acquireBySixCalls(request) : undefined),
    };
  }

  private makeSessionHost(): ChannelSessionHost {
    const { clock, random, settings } = this.host;
    return {
      clock,
      random,
      client: settings.clientName ?? '',
      link: (timeoutMs) => this.service.link(timeoutMs),
      open: (link, listener) => this.opener.open(link, listener),
      unanswered: (link, sentAtMs) => this.connection.unanswered(link, sentAtMs),
      refused: (session, outcome) => this.refused(session, outcome),
      endedByServer: (session, code, message) =>
        this.slotOf(session)?.over(session, endByWatch(code, message)),
      grantLost: (_, grant) => this.host.endGrant(grant, 'not-held', 'LOCK_NOT_FOUND'),
      grantRevoked: (_, grant) => this.host.endGrant(grant, 'revoked', 'REVOKED'),
    };
  }

  private refused(session: LiveSession, outcome: NoAnswer): void {
    if (outcome.kind === 'failed' && outcome.status === 'UNIMPLEMENTED') {
      // Another server has taken the address, one without channels: it knows nothing of this session.
      this.speech = 'six-calls';
      const end = { reason: 'server-changed', code: 'SERVER_INSTANCE_MISMATCH', tellServer: false } as const;
      this.slotOf(session)?.over(session, end);
    } else this.slotOf(session)?.refused(session, outcome);
  }
}

/** Different ttls whose slot is remembered. */
const MAX_TTLS = 64;

function cannotInspect(key: LockKey): BackendStateError {
  const message =
    'inspect needs a server that can be asked who holds what; this one speaks only the klock.v1 calls, which have no such question';
  return new BackendStateError(message, { key, operation: 'inspect', code: 'BACKEND_MISCONFIGURED' });
}
