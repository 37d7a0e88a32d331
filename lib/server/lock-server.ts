import {
  BackendStateError,
  type Clock,
  optionError,
  type Random,
  systemClock,
  systemRandom,
  type Timer,
} from '../core/index.js';
import { PROTOCOL_VERSION } from '../rpc/index.js';
import { GrpcTransport, type Keepalive } from './grpc-transport.js';
import { newServerId } from './identity.js';
import type { LocalStore } from './local-store.js';
import { checkLog, type OpenedLog, openServerLog } from './open-server-log.js';
import { RestartGuard } from './restart-guard.js';
import type { CounterValues } from './server-counters.js';
import { CLOSE_GRACE_MS, REPORT_EVERY_MS } from './server-limits.js';
import type { ServerOptions, ServerSettings } from './server-options.js';
import { ServerParts } from './server-parts.js';
import { resolveServerOptions } from './server-settings.js';
import type { OwnerTiming } from './state/owner-file.js';

/** Why a server is no more: it was closed, or another server has taken its state directory. */
export type ServerEnd = 'closed' | 'state-lost';

interface Running {
  readonly parts: ServerParts;
  readonly restart: RestartGuard;
  readonly transport: GrpcTransport;
  readonly log: OpenedLog;
}

/** For tests: spans no user should set. */
export interface ServerInternals {
  readonly ownerTiming?: OwnerTiming;
  readonly keepalive?: Keepalive;
  /** False: a server that knows the six calls only, as older ones do. */
  readonly channel?: boolean;
}

/** The klock lock server: klock.v1 over one engine. A single instance; its state is in this process. */
export class LockServer {
  /** Unique to this server object; clients take another one for a restart. */
  readonly serverId: string;
  /** Resolves when the server has ended, for whatever reason. Never rejects. */
  readonly ended: Promise<ServerEnd>;
  private readonly settings: ServerSettings;
  private readonly clock: Clock;
  private readonly random: Random;
  private starting: Promise<Running> | undefined = undefined;
  private running: Running | undefined = undefined;
  private closing: Promise<void> | undefined = undefined;
  private report: Timer | undefined = undefined;
  private tellEnd!: (end: ServerEnd) => void;

  /** @throws InvalidOptionError listing everything that is wrong with the options. */
  constructor(
    private readonly options: ServerOptions = {},
    private readonly internals: ServerInternals = {},
  ) {
    this.settings = resolveServerOptions(options);
    checkLog(options.log);
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? systemRandom;
    this.serverId = newServerId(this.random);
    this.ended = new Promise((resolve) => (this.tellEnd = resolve));
  }

  /** `host:port` as bound. @throws BackendStateError before the start. */
  get address(): string {
    return this.started('address').transport.address;
  }

  /** The bound port. @throws BackendStateError before the start. */
  get port(): number {
    return this.started('port').transport.port;
  }

  /** What the server has counted so far. @throws BackendStateError before the start. */
  get counters(): Readonly<CounterValues> {
    return this.started('counters').parts.snapshot();
  }

  /** Sessions, locks and waiters as of now. @throws BackendStateError before the start. */
  get stats(): ReturnType<ServerParts['host']['stats']> {
    return this.started('stats').parts.host.stats();
  }

  /** Open connections. @throws BackendStateError before the start. */
  get connections(): number {
    return this.started('connections').transport.connections;
  }

  /** `quarantined` after an unclean end of the server before, `draining` once the end of this one has begun. */
  get condition(): LocalStore['condition'] {
    return this.started('condition').parts.condition();
  }

  /**
   * Reads the state, binds the address and serves. A second call waits for the first.
   * @throws BackendStateError where the address or the state directory is in use, the state damaged, or the server closed.
   */
  async start(): Promise<void> {
    if (this.closing !== undefined)
      throw new BackendStateError('the server was closed: make another one to start again');
    this.starting ??= this.open();
    await this.starting;
  }

  /** The server's engine for drivers in this process. @throws BackendStateError before the start. */
  openLocalStore(): LocalStore {
    return this.started('local store').parts.local;
  }

  /**
   * Takes nothing new, tells clients, and waits until their sessions are closed or over, `limitMs` at most
   * (default `drainMs`). A repeat with a nearer limit hurries it.
   * @returns sessions that had to be cut off.
   * @throws InvalidOptionError for a limit that is no number of milliseconds.
   */
  async drain(options: { readonly limitMs?: number } = {}): Promise<number> {
    const { parts, log } = this.started('drain');
    const { limitMs = this.settings.drainMs } = options;
    if (!isSpan(limitMs)) throw optionError('limitMs', 'a number of milliseconds, 0 or more', limitMs);
    if (!parts.drain.begun) log.log.write('info', 'server_draining', { sessions: parts.host.sessions.size });
    return await parts.drain.run(limitMs);
  }

  /** Drains and stops, in bounded time. Repeatable; never rejects. @param options.graceMs in place of `drainMs`. */
  async close(options: { readonly graceMs?: number } = {}): Promise<void> {
    if (this.starting === undefined) {
      this.starting = Promise.reject(new BackendStateError('the server was closed before it started'));
      this.starting.catch(() => undefined);
      this.tellEnd('closed');
    }
    const running = await this.starting.catch(() => undefined);
    if (running === undefined) return;
    // Never rejects: a stop with a span that is none is still a stop.
    const drained = this.drain(isSpan(options.graceMs) ? { limitMs: options.graceMs } : {});
    this.closing ??= drained.then((cutOff) => this.stop(running, cutOff === 0, 'closed'));
    await this.closing;
  }

  private async open(): Promise<Running> {
    const { settings, clock, random, serverId, options } = this;
    const log = await openServerLog(options.log, clock);
    let restart: RestartGuard | undefined;
    try {
      const timing = this.internals.ownerTiming;
      restart = await RestartGuard.open({ settings, clock, random, log: log.log, ...(timing && { timing }) });
      const parts = new ServerParts({ settings, clock, random, log: log.log, serverId, restart });
      await restart.guard(
        parts.host,
        () => parts.sessions.longestLeaseMs,
        () => this.stateLost(),
      );
      const transport = await GrpcTransport.open(settings, {
        clock,
        log: log.log,
        maxConnections: settings.maxConnections,
        interceptor: parts.gate.interceptor,
        handlers: this.internals.channel === false ? withoutChannel(parts) : parts.handlers(),
        ...(this.internals.keepalive && { keepalive: this.internals.keepalive }),
      });
      this.running = { parts, restart, transport, log };
      this.logStart(this.running);
      this.reportLater();
      return this.running;
    } catch (error) {
      await restart?.close(true).catch(() => undefined);
      await log.close();
      this.tellEnd('closed');
      throw error;
    }
  }

  private started(what: string): Running {
    if (this.running === undefined)
      throw new BackendStateError(`the server has no ${what} before it has started`);
    return this.running;
  }

  /** Another server owns the state: whatever this one still says may contradict it. */
  private stateLost(): void {
    const { running } = this;
    if (running === undefined) return;
    running.log.log.write('fatal', 'state_lost', { message: 'another server has taken the state directory' });
    this.closing ??= running.parts.drain.run(0).then(() => this.stop(running, false, 'state-lost'));
    void running.parts.drain.run(0);
  }

  private async stop(running: Running, clean: boolean, end: ServerEnd): Promise<void> {
    const { parts, restart, transport, log } = running;
    this.report?.cancel();
    await transport.close(CLOSE_GRACE_MS);
    const kept = parts.host.stats().kept;
    parts.host.stop();
    try {
      await restart.close(clean && kept === 0);
    } catch (cause) {
      log.log.write('error', 'state_write_failed', { cause: String(cause) });
    }
    log.log.write('info', 'server_metrics', { ...parts.snapshot() });
    log.log.write('info', 'server_stopped', { clean, end });
    await log.close();
    this.tellEnd(end);
  }

  private logStart({ log, transport, restart }: Running): void {
    const { settings } = this;
    log.log.write('info', 'server_started', {
      address: transport.address,
      server_id: this.serverId,
      protocol: PROTOCOL_VERSION,
      single_instance_only: true,
      auth_enabled: settings.authToken !== undefined,
      rate_limit_rps: settings.rateLimit?.rps ?? 'off',
      rate_limit_burst: settings.rateLimit?.burst ?? 'off',
      idempotency_entries: settings.idempotencyEntries,
      idempotency_ttl_ms: settings.idempotencyTtlMs,
      default_lease_ms: settings.defaultLeaseMs,
      max_lease_ms: settings.maxLeaseMs,
      restart: restart.state?.restart,
      start: restart.state?.start,
      quarantine_ms: Math.round(restart.quarantineLeftMs),
    });
  }

  private reportLater(): void {
    this.report = this.clock.after(REPORT_EVERY_MS, () => {
      this.running?.log.log.write('info', 'server_metrics', { ...this.running.parts.snapshot() });
      this.reportLater();
    });
  }
}

function isSpan(ms: unknown): ms is number {
  return typeof ms === 'number' && ms >= 0;
}

function withoutChannel(parts: ServerParts) {
  const { Channel: _c, Revoke: _r, ListHolders: _l, ...six } = parts.handlers();
  return six;
}
