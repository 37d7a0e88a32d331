import { Metadata } from '@grpc/grpc-js';
import {
  pause,
  ClosedError,
  leaseLadder,
  rungFor,
  type DefiniteRelease,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type DriverHost,
  type KeptLease,
  type RenewReply,
} from '../core/index.js';
import { AUTHORIZATION, durationFromWire } from '../rpc/index.js';
import {
  describeOutcome,
  endByRefusal,
  PROTOCOL_END,
  ServerHistory,
  verdictOf,
  type NoAnswer,
  type SessionEnd,
} from '../session/index.js';
import { AcquireCall } from './acquire-call.js';
import { Background } from './background.js';
import type { ResolvedClientOptions } from './client-options.js';
import { Connection } from './connection.js';
import { Hooks } from './hooks.js';
import type { LiveSession } from './live-session.js';
import { LockService } from './lock-service.js';
import { releaseToken } from './release-call.js';
import { RemoteCloses } from './remote-close.js';
import { checkSessionLease, sessionLeaseFor } from './session-lease.js';
import type { SessionGrant } from './session-grants.js';
import { SessionSlot } from './session-slot.js';
import { SessionWatch } from './session-watch.js';
import { TurnGate } from './turn-gate.js';

/** What a client has in common with the one that speaks channels. */
export interface SharedParts {
  readonly connection: Connection;
  readonly service: LockService;
  /** A session was opened on this server, or it was met by a mismatch. */
  metServer(serverId: string): void;
}

/**
 * The client of one lock server over the six RPCs: sessions on a ladder of lease lengths, what is held on them, and what
 * is still to be told to the server. Connects when first needed.
 */
export class LockClient {
  readonly service: LockService;
  private readonly connection: Connection;
  private readonly slots = new Map<number, SessionSlot>();
  private readonly ladder: readonly number[];
  private readonly background: Background;
  private readonly remoteCloses: RemoteCloses;
  private readonly servers = new ServerHistory();
  private readonly closing = new Hooks();
  private readonly gate: TurnGate;
  private readonly releases = new WeakMap<DriverGrant, Promise<DefiniteRelease>>();
  private toldUnsupported = false;
  /** Why the server refused the last acquire for now, such as SERVER_RECOVERING; undefined once it granted. */
  lastWord: string | undefined = undefined;

  constructor(
    private readonly options: ResolvedClientOptions,
    private readonly host: DriverHost,
    private readonly shared?: SharedParts,
  ) {
    const { clock, random, settings } = host;
    checkSessionLease(this.options, this.host.settings.ttlMs);
    this.gate = new TurnGate(clock);
    this.ladder = leaseLadder(settings.ttlMs);
    this.background = new Background((cause) =>
      host.warn('INTERNAL', 'a background task of the client failed', cause),
    );
    const { connection, service } = shared ?? connect(options, host);
    this.connection = connection;
    this.service = service;
    this.remoteCloses = new RemoteCloses(this.service, clock, random);
  }

  get isClosed(): boolean {
    return this.closing.fired;
  }

  acquire(request: DriverAcquire): Promise<DriverGrant | DriverBusy> {
    if (this.isClosed)
      return Promise.reject(new ClosedError('the klock driver is closed', { key: request.key }));
    const { clock, random } = this.host;
    const call = new AcquireCall(
      {
        clock,
        random,
        service: this.service,
        connectTimeoutMs: this.options.connectTimeoutMs,
        gate: this.gate,
        closing: this.closing,
        alternating: () => this.servers.alternating,
        storeSaid: (code) => (this.lastWord = code),
        background: (work) => this.background.add(work),
      },
      this.slotFor(rungFor(this.ladder, request.ttlMs)),
      request,
    );
    return call.run();
  }

  /** Once per grant: whoever asks again gets the same answer. */
  release(grant: DriverGrant): Promise<DefiniteRelease> {
    const known = this.releases.get(grant);
    if (known !== undefined) return known;
    const release = this.releaseOnce(grant);
    this.releases.set(grant, release);
    this.background.add(release);
    return release;
  }

  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]> {
    return Promise.all(leases.map((lease) => this.renewOne(lease, timeoutMs)));
  }

  /** The keeper lost this lease: its session is given up. */
  abandon(lease: KeptLease, code: string): void {
    const found = this.find(lease);
    found?.slot.over(found.session, { reason: 'expired', code, tellServer: true });
  }

  /** The grant with this token among those held through this client. */
  grantOf(token: string): DriverGrant | undefined {
    for (const session of this.sessions()) {
      const grant = session.grants.withToken(token);
      if (grant !== undefined) return grant;
    }
    return undefined;
  }

  /** All grants held through this client. */
  *grants(): Iterable<DriverGrant> {
    for (const session of this.sessions()) yield* session.grants.all();
  }

  /** Reaches the server: opens a session for the instance's own ttl, or renews it. Undefined if it answered well. */
  async reach(timeoutMs: number): Promise<NoAnswer | undefined> {
    if (this.isClosed) return { kind: 'unsent', cause: new ClosedError('the klock driver is closed') };
    const slot = this.slotFor(rungFor(this.ladder, this.host.settings.ttlMs));
    const { current } = slot;
    const answer = await slot.session(timeoutMs, (wake) => this.closing.on(wake));
    if ('kind' in answer) return answer;
    if (answer !== current) return undefined;
    const outcome = await this.service.heartbeat(answer, timeoutMs);
    if (outcome.kind === 'answered') return undefined;
    slot.refused(answer, outcome);
    return outcome;
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
    const told = this.farewell();
    let done = false;
    await pause(this.host.clock, timeoutMs, (wake) => {
      void told.then((all) => {
        done = all;
        wake();
      });
      return () => undefined;
    });
    if (!done) {
      // Out of time: what is owed can be told by closing again, but nothing of ours may keep the process alive.
      this.remoteCloses.cutShort();
      this.connection.hangUp();
    }
    return done;
  }

  /** Everything under way ends, every session is told over, then the connection ends; nothing of ours stays open. */
  private async farewell(): Promise<boolean> {
    await this.background.idle();
    const all = this.remoteCloses.owing === 0;
    if (all) this.connection.close();
    else this.connection.hangUp();
    return all;
  }

  private async releaseOnce(grant: DriverGrant): Promise<DefiniteRelease> {
    const found = this.find(grant.lease);
    if (found === undefined || !found.session.grants.has(grant as SessionGrant)) return 'lost';
    const { clock, random } = this.host;
    const tools = { clock, random, service: this.service };
    const outcome = await releaseToken(tools, found.slot, found.session, grant.token);
    found.session.drop(grant as SessionGrant);
    return outcome;
  }

  private async renewOne(lease: KeptLease, timeoutMs: number): Promise<RenewReply> {
    const found = this.find(lease);
    if (found === undefined) return { outcome: 'failed', cause: new Error('the session is not current') };
    const { slot, session } = found;
    const outcome = await this.service.heartbeat(session, timeoutMs);
    // Late: the session ended, or another took its place, while the answer was under way (WK-20).
    if (session.over.fired) return { outcome: 'failed', cause: new Error('the session is over') };
    if (outcome.kind === 'answered') {
      slot.serverSeen(session, outcome.reply.serverId);
      if (!session.over.fired)
        return { outcome: 'renewed', grantedMs: durationFromWire(outcome.reply.leaseMs) };
      return { outcome: 'gone', reason: 'server-changed', code: 'SERVER_INSTANCE_MISMATCH' };
    }
    slot.refused(session, outcome);
    const end =
      outcome.kind === 'refused'
        ? endByRefusal(verdictOf(outcome), outcome.refusal, session.serverId)
        : undefined;
    if (end !== undefined) return { outcome: 'gone', reason: end.reason, code: end.code };
    return { outcome: 'failed', cause: new Error(`the heartbeat failed: ${describeOutcome(outcome)}`) };
  }

  private slotFor(rungMs: number): SessionSlot {
    const known = this.slots.get(rungMs);
    if (known !== undefined) return known;
    const slot: SessionSlot = new SessionSlot(
      sessionLeaseFor(this.options, this.host.settings.ttlMs, rungMs),
      {
        driverHost: this.host,
        service: this.service,
        idleSessionMs: this.options.idleSessionMs,
        opened: (session) => this.watch(slot, session),
        metServer: (serverId) => this.metServer(serverId),
        otherProtocol: () => this.endAll(PROTOCOL_END),
        closeRemote: (session) => this.background.add(this.remoteCloses.close(session)),
        background: (work) => this.background.add(work),
      },
    );
    this.slots.set(rungMs, slot);
    return slot;
  }

  private watch(slot: SessionSlot, session: LiveSession): void {
    const { clock, random } = this.host;
    const host = {
      clock,
      random,
      service: this.service,
      over: (over: LiveSession, end: SessionEnd) => {
        if (end === PROTOCOL_END) this.endAll(end);
        slot.over(over, end);
      },
      serverSeen: (seen: LiveSession, serverId: string) => slot.serverSeen(seen, serverId),
      beat: async (beaten: LiveSession, timeoutMs: number) => {
        const outcome = await this.service.heartbeat(beaten, timeoutMs);
        if (outcome.kind === 'answered') slot.serverSeen(beaten, outcome.reply.serverId);
        else slot.refused(beaten, outcome);
      },
      unsupported: () => this.tellUnsupported(),
    };
    new SessionWatch(session, host, this.options.strictWatch);
  }

  private tellUnsupported(): void {
    if (this.toldUnsupported) return;
    this.toldUnsupported = true;
    this.host.warn(
      'WATCH_UNSUPPORTED',
      'the lock server offers no watch: the end of a session is noticed by heartbeats',
    );
  }

  private metServer(serverId: string): void {
    this.shared?.metServer(serverId);
    if (!this.servers.meet(serverId)) return;
    this.host.warn(
      'SERVER_ALTERNATES',
      'several lock servers answer at this address, each with locks of its own: nothing excludes anything',
    );
  }

  private endAll(end: SessionEnd): void {
    for (const slot of this.slots.values()) if (slot.current !== undefined) slot.over(slot.current, end);
  }

  private find(lease: KeptLease): { readonly slot: SessionSlot; readonly session: LiveSession } | undefined {
    for (const slot of this.slots.values()) {
      const session = slot.current;
      if (session?.lease === lease) return { slot, session };
    }
    return undefined;
  }

  private *sessions(): Iterable<LiveSession> {
    for (const slot of this.slots.values()) if (slot.current !== undefined) yield slot.current;
  }
}

function connect(
  options: ResolvedClientOptions,
  host: DriverHost,
): Pick<SharedParts, 'connection' | 'service'> {
  const { clock, random, settings } = host;
  const connection = new Connection({ ...options, ttlMs: settings.ttlMs }, clock, random, (state, cause) =>
    host.storeState(state, cause),
  );
  const metadata = new Metadata();
  if (options.authToken !== undefined) metadata.set(AUTHORIZATION, `Bearer ${options.authToken}`);
  const { connectTimeoutMs } = options;
  return { connection, service: new LockService({ clock, connection, metadata, connectTimeoutMs }) };
}
