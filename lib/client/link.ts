import type { Socket } from 'node:net';
import { Client, connectivityState, type ChannelOptions } from '@grpc/grpc-js';
import type { Clock, Timer } from '../core/index.js';
import { causeText, type LinkId } from '../session/index.js';
import { lockServiceName, MAX_MESSAGE_BYTES } from '../rpc/index.js';
import type { Target } from './client-options.js';
import { credentialsFor, observed } from './credentials.js';

/** A ping unanswered for this long means that the connection is dead. */
const KEEPALIVE_TIMEOUT_MS = 5_000;
/** The library does not reconnect by itself here: a link ends at its first failure. Short, since its timer outlives the link. */
const BACKOFF_MS = 1_000;
/** The library must not close a quiet connection by itself: that would look like a broken one. */
const NEVER_MS = 2_147_483_647;

export interface LinkSettings {
  readonly ca: string | Buffer | undefined;
  readonly connectTimeoutMs: number;
  readonly keepaliveMs: number;
}

export interface LinkListener {
  linkReady(link: Link): void;
  /** It could not be made, or broke. Told once; never after `drop`. */
  linkOver(link: Link, cause: unknown): void;
}

/**
 * One connection to one address, from the first packet to its end. It never reconnects, so that two calls on one link
 * are known to have been read by the server in order (design D4).
 */
export class Link {
  readonly client: Client;
  /** Whether the connection was up at any time. */
  wasReady = false;
  private state: 'connecting' | 'ready' | 'over' = 'connecting';
  private readonly sockets = new Set<Socket>();
  private connectTimer: Timer | undefined;
  private failure: unknown;
  /** Monotonic time when something was last received. */
  heardAtMs: number;
  /** When the first call was sent that went unanswered with nothing heard since. */
  silentSinceMs: number | undefined = undefined;

  constructor(
    readonly id: LinkId,
    readonly target: Target,
    settings: LinkSettings,
    private readonly clock: Clock,
    private readonly listener: LinkListener,
  ) {
    this.heardAtMs = clock.monoMs();
    const credentials = observed(
      credentialsFor(target, settings.ca),
      (socket) => this.track(socket),
      (cause) => (this.failure = cause),
    );
    this.client = new Client(`dns:${target.text}`, credentials, channelOptions(settings));
    this.connectTimer = clock.after(
      settings.connectTimeoutMs,
      () =>
        this.end(
          new Error(`${target.text} did not complete the connection within ${settings.connectTimeoutMs} ms`),
        ),
      { keepAlive: true },
    );
    this.follow(connectivityState.IDLE);
  }

  get isReady(): boolean {
    return this.state === 'ready';
  }

  get isOver(): boolean {
    return this.state === 'over';
  }

  /** Ends the connection without telling the listener; calls under way end as unavailable. */
  drop(): void {
    this.state = 'over';
    this.connectTimer?.cancel();
    this.client.close();
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  /** Ends the connection because it gives no sign of life. */
  declareDead(cause: unknown): void {
    this.end(cause);
  }

  private follow(from: connectivityState): void {
    if (this.state === 'over') return;
    const channel = this.client.getChannel();
    const now = channel.getConnectivityState(true);
    if (now === from || (now === connectivityState.CONNECTING && this.state === 'connecting')) {
      channel.watchConnectivityState(now, Infinity, () => this.follow(now));
      return;
    }
    if (now === connectivityState.READY) this.becomeReady();
    else if (this.state === 'ready') return this.end(this.reason('the connection broke'));
    else if (now !== connectivityState.IDLE) return this.explainFailure();
    channel.watchConnectivityState(now, Infinity, () => this.follow(now));
  }

  private becomeReady(): void {
    this.state = 'ready';
    this.wasReady = true;
    this.connectTimer?.cancel();
    this.heardAtMs = this.clock.monoMs();
    this.listener.linkReady(this);
  }

  private end(cause: unknown): void {
    if (this.state === 'over') return;
    this.drop();
    this.listener.linkOver(this, cause);
  }

  /** The channel says only that it failed; a call on it, which cannot leave any more, says why. */
  private explainFailure(): void {
    const nothing = Buffer.alloc(0);
    this.client.makeUnaryRequest(
      `/${lockServiceName}/-`,
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
      nothing,
      (error) => {
        this.failure ??= error;
        this.end(this.reason('cannot connect'));
      },
    );
  }

  private reason(what: string): Error {
    const cause = this.failure;
    const why = cause === undefined ? '' : `: ${causeText(cause)}`;
    return new Error(`${what}: ${this.target.text}${why}`, cause === undefined ? undefined : { cause });
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('error', (cause) => (this.failure = cause));
    socket.once('close', () => this.sockets.delete(socket));
    if (this.state === 'over') socket.destroy();
  }
}

function channelOptions(settings: LinkSettings): ChannelOptions {
  return {
    // Calls are repeated by us, who know what a repeat means; a copy made below would be one nobody knows of.
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.initial_reconnect_backoff_ms': BACKOFF_MS,
    'grpc.max_reconnect_backoff_ms': BACKOFF_MS,
    'grpc.keepalive_time_ms': settings.keepaliveMs,
    'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
    'grpc.keepalive_permit_without_calls': 0,
    'grpc.client_idle_timeout_ms': NEVER_MS,
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
    'grpc.enable_channelz': 0,
  };
}
