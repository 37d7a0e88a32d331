import { type Metadata, type ServerInterceptor, ServerInterceptingCall, status } from '@grpc/grpc-js';
import type { Clock } from '../core/index.js';
import { AUTHORIZATION, lockService } from '../rpc/index.js';
import type { AuthToken } from './auth-token.js';
import { OpenCall, type OpenCalls } from './open-call.js';
import { peerKey, type RateLimiter } from './rate-limiter.js';
import type { ServerCounters } from './server-counters.js';
import type { ServerLog } from './server-log.js';

type InterceptedCall = Parameters<ServerInterceptor>[1];
type Listener = Parameters<ServerInterceptingCall['start']>[0];
type SendMessage = ServerInterceptingCall['sendMessage'];

interface Refused {
  readonly code: status;
  readonly details: string;
}

/** What keeps a lock alive or gives it back is never refused for its rate: a limit must not cost anybody a lock. */
const LIMITED: ReadonlySet<string> = new Set([
  lockService.CreateSession.path,
  lockService.Acquire.path,
  lockService.WatchSession.path,
  lockService.Channel.path,
  lockService.Revoke.path,
  lockService.ListHolders.path,
]);

const RATE: Refused = { code: status.RESOURCE_EXHAUSTED, details: 'too many calls from this address' };
/** One text for a missing and a wrong token. */
const AUTH: Refused = { code: status.UNAUTHENTICATED, details: 'authorization is missing or wrong' };

export interface GateParts {
  readonly auth: AuthToken | undefined;
  readonly limiter: RateLimiter | undefined;
  readonly counters: ServerCounters;
  readonly log: ServerLog;
  readonly clock: Clock;
}

/** Stands before every call: rate by peer, then token; and knows of each call let in whether its answer got out. */
export class CallGate {
  readonly calls: OpenCalls = new WeakMap();

  constructor(private readonly parts: GateParts) {}

  readonly interceptor: ServerInterceptor = (method, call) => new GatedCall(this, method.path, call);

  /** Lets a call in, or says why not. */
  enter(path: string, call: InterceptedCall, metadata: Metadata): OpenCall | Refused {
    const { clock, counters } = this.parts;
    const peer = call.getConnectionInfo().remoteAddress;
    const refused = this.check(path, peerKey(peer), metadata);
    if (refused !== undefined) {
      counters.add(refused === AUTH ? 'auth_failures' : 'rate_limited');
      this.parts.log.write('warn', 'call_refused', { method: path, code: status[refused.code], peer });
      return refused;
    }
    const open = new OpenCall(path, call.getPeer(), clock.monoMs());
    this.calls.set(metadata, open);
    return open;
  }

  private check(path: string, peer: string, metadata: Metadata): Refused | undefined {
    const { auth, limiter, clock } = this.parts;
    if (limiter !== undefined && LIMITED.has(path) && !limiter.allow(`${path}|${peer}`, clock.monoMs()))
      return RATE;
    if (auth !== undefined && !auth.accepts(metadata.get(AUTHORIZATION)[0])) return AUTH;
    return undefined;
  }
}

class GatedCall extends ServerInterceptingCall {
  private open: OpenCall | undefined = undefined;

  constructor(
    private readonly gate: CallGate,
    private readonly path: string,
    private readonly inner: InterceptedCall,
  ) {
    super(inner);
  }

  override start(listener: Listener): void {
    super.start({
      onReceiveMetadata: (metadata) => {
        const entered = this.gate.enter(this.path, this.inner, metadata);
        if ('code' in entered) return this.sendStatus({ ...entered, metadata: null });
        this.open = entered;
        listener.onReceiveMetadata(metadata);
      },
      onReceiveMessage: (message) => listener.onReceiveMessage(message),
      onReceiveHalfClose: () => listener.onReceiveHalfClose(),
      onCancel: () => {
        this.open?.close();
        listener.onCancel();
      },
    });
  }

  override sendMessage(message: Parameters<SendMessage>[0], callback: Parameters<SendMessage>[1]): void {
    super.sendMessage(message, () => {
      if (this.open !== undefined && !this.open.closed) this.open.written = !isDestroyed(this.inner);
      callback();
    });
  }
}

/**
 * Whether the HTTP/2 stream under a call is gone. Node reports a write that failed with its connection as done when
 * the stream was destroyed meanwhile; grpc-js keeps the stream to itself, so a version that keeps it elsewhere counts
 * as alive, which at worst leaves a lock to its lease.
 */
function isDestroyed(call: InterceptedCall): boolean {
  const { stream } = call as { readonly stream?: { readonly destroyed?: unknown } };
  return stream?.destroyed === true;
}
