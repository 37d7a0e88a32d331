import { type Clock, formatKey, maskId, type Random } from '../core/index.js';
import type { Grant } from '../engine/index.js';
import {
  CloseSessionResponse,
  ListHoldersResponse,
  type lockService,
  LockResponse,
  ReleaseResponse,
  RevokeResponse,
  SessionResponse,
} from '../rpc/index.js';
import { AuthToken } from './auth-token.js';
import { CallGate } from './call-gate.js';
import { ChannelRpc } from './channel-rpc.js';
import { Deliveries } from './deliveries.js';
import { Drain } from './drain.js';
import { EngineHost } from './engine-host.js';
import { tokenMint } from './identity.js';
import { LocalStore } from './local-store.js';
import { LockRpcs } from './lock-rpcs.js';
import { OperatorRpcs } from './operator-rpcs.js';
import { RateLimiter } from './rate-limiter.js';
import { RequestChecks } from './request-checks.js';
import type { RestartGuard } from './restart-guard.js';
import { ServerCounters } from './server-counters.js';
import type { ServerSettings } from './server-options.js';
import { causeText, type ServerLog } from './server-log.js';
import { SessionRpcs } from './session-rpcs.js';
import { unaryCall, type UnaryHandler, type WireAnswer } from './unary-call.js';
import { WatchBook } from './watch-book.js';
import { WatchRpc } from './watch-rpc.js';
import { WireErrors } from './wire-errors.js';

export interface ServerPartsInput {
  readonly settings: ServerSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
  readonly serverId: string;
  readonly restart: RestartGuard;
}

/** Everything a running server consists of but its sockets, put together. */
export class ServerParts {
  readonly counters = new ServerCounters();
  readonly host: EngineHost;
  readonly book: WatchBook;
  readonly drain: Drain;
  readonly local: LocalStore;
  readonly gate: CallGate;
  readonly sessions: SessionRpcs;
  private readonly locks: LockRpcs;
  private readonly watches: WatchRpc;
  private readonly channels: ChannelRpc;
  private readonly operators: OperatorRpcs;
  private readonly errors: WireErrors;
  private readonly limiter: RateLimiter | undefined;

  constructor(private readonly input: ServerPartsInput) {
    const { settings, clock, log, serverId } = input;
    const { counters } = this;
    this.errors = new WireErrors(serverId);
    this.host = this.makeHost();
    this.book = new WatchBook({ serverId, counters, log });
    this.local = new LocalStore(`klock:${serverId}`, clock, this.host, () => this.condition());
    this.drain = new Drain({
      host: this.host,
      book: this.book,
      clock,
      isLocal: (sessionId) => this.local.sessions.has(sessionId),
    });
    this.limiter = settings.rateLimit && new RateLimiter(settings.rateLimit.rps, settings.rateLimit.burst);
    const auth =
      settings.authToken === undefined
        ? undefined
        : new AuthToken(settings.authToken, settings.acceptRawToken);
    this.gate = new CallGate({ auth, limiter: this.limiter, counters, log, clock });
    const checks = new RequestChecks(this.errors);
    const shared = { ...input, host: this.host, book: this.book, checks, errors: this.errors, counters };
    const isDraining = (): boolean => this.drain.begun;
    this.sessions = new SessionRpcs({ ...shared, cover: input.restart.state, isDraining });
    this.locks = new LockRpcs({
      ...shared,
      deliveries: new Deliveries(clock, (grant) => this.giveBack(grant)),
    });
    this.watches = new WatchRpc({ ...shared, calls: this.gate.calls, isDraining });
    this.channels = new ChannelRpc({ ...shared, calls: this.gate.calls, sessions: this.sessions });
    this.operators = new OperatorRpcs({ ...shared, mayRevoke: settings.mayRevoke });
  }

  /** Handlers by RPC name, for grpc-js. */
  handlers() {
    const { sessions, locks, operators } = this;
    return {
      CreateSession: this.unary(SessionResponse, sessions.create.bind(sessions)),
      Heartbeat: this.unary(SessionResponse, sessions.heartbeat.bind(sessions)),
      Acquire: this.unary(LockResponse, locks.acquire.bind(locks)),
      Release: this.unary(ReleaseResponse, locks.release.bind(locks)),
      CloseSession: this.unary(CloseSessionResponse, sessions.close.bind(sessions)),
      WatchSession: this.watches.watch,
      Channel: this.channels.serve,
      Revoke: this.unary(RevokeResponse, operators.revoke.bind(operators)),
      ListHolders: this.unary(ListHoldersResponse, operators.listHolders.bind(operators)),
    } satisfies Record<keyof typeof lockService, unknown>;
  }

  /** Counters and gauges as of now. */
  snapshot() {
    this.counters.set('rate_limiter_entries', this.limiter?.size ?? 0);
    return this.counters.snapshot();
  }

  condition(): LocalStore['condition'] {
    if (this.drain.begun) return 'draining';
    return this.input.restart.quarantined ? 'quarantined' : 'ok';
  }

  private makeHost(): EngineHost {
    const { settings, clock, random, log, restart } = this.input;
    const options = {
      ...restart.fences(),
      mintToken: tokenMint(random),
      maxSessions: settings.maxSessions,
      maxWaiters: settings.maxWaiters,
      maxWaitersPerKey: settings.maxWaitersPerKey,
      maxLocksPerSession: settings.maxLocksPerSession,
      rememberedRequests: settings.idempotencyEntries,
      rememberMs: settings.idempotencyTtlMs,
    };
    return new EngineHost(options, clock, {
      onSessionEnded: (sessionId, reason) => {
        this.counters.add('session_invalidations');
        this.book.announce(sessionId, reason);
        log.write(reason === 'client_close' ? 'debug' : 'info', 'session_ended', {
          session: maskId(sessionId),
          reason,
        });
      },
      onRevoked: (grant, by) => this.revoked(grant, by),
      reserveFences: (upTo) => restart.reserveFences(upTo),
      onReserveFailed: (cause) => log.write('error', 'state_write_failed', { cause: causeText(cause) }),
    });
  }

  /** The holder is told, whichever way it holds; one that holds by the six calls finds out at its release. */
  private revoked(grant: Grant, by: string | undefined): void {
    const { sessionId, requestId, key, fence } = grant;
    this.counters.add('locks_revoked');
    this.input.log.write('warn', 'lock_revoked', {
      key: formatKey(key),
      fence: String(fence),
      session: maskId(sessionId),
      by: by ?? 'this process',
    });
    this.channels.find(sessionId)?.revoked(Number(requestId));
    this.local.tellRevoked(grant);
  }

  private unary<Request, Answer extends WireAnswer>(
    answers: { create(fields: { readonly error: NonNullable<WireAnswer['error']> }): Answer },
    handle: UnaryHandler<Request, Answer>,
  ) {
    const { log, clock } = this.input;
    const parts = { calls: this.gate.calls, counters: this.counters, log, clock, errors: this.errors };
    return unaryCall(parts, (error) => answers.create({ error }), handle);
  }

  /** Nobody was told of this grant and nobody asked for it again. */
  private giveBack({ sessionId, requestId }: Grant): void {
    this.input.log.write('warn', 'grant_undelivered', { session: maskId(sessionId) });
    this.host.apply({ type: 'cancel-request', sessionId, requestId });
  }
}
