import { EventEmitter } from 'node:events';
import type { Metadata } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { Clock, Random } from '../../lib/core/index.js';
import type { Engine } from '../../lib/engine/index.js';
import { newServerId } from '../../lib/server/identity.js';
import { OpenCall } from '../../lib/server/open-call.js';
import { RestartGuard } from '../../lib/server/restart-guard.js';
import { silentLog } from '../../lib/server/server-log.js';
import type { ServerOptions } from '../../lib/server/server-options.js';
import { ServerParts } from '../../lib/server/server-parts.js';
import { resolveServerOptions } from '../../lib/server/server-settings.js';
import type { EngineWitness } from '../../lib/testing/simulation/index.js';
import type { CallReplies, ServerCall, SimWire } from './sim-wire.js';

export interface LifeOptions extends ServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly stateDir: string;
  readonly sixCalls: boolean;
}

interface UnaryCall {
  readonly metadata: Metadata;
  readonly request: unknown;
}
type UnaryHandler = (
  call: UnaryCall,
  callback: (error: { code: number; details: string } | null, answer?: unknown) => void,
) => void;
type StreamHandler = (stream: unknown) => void;

/** One life of a lock server: all of the shipped server but its sockets and files. */
export class ServerLife {
  private constructor(
    readonly parts: ServerParts,
    private readonly restart: RestartGuard,
    private readonly handlers: Record<string, unknown>,
    private readonly clock: Clock,
    private readonly isSlow: () => boolean,
  ) {}

  static async start(
    options: LifeOptions,
    witness: EngineWitness,
    isSlow: () => boolean,
  ): Promise<ServerLife> {
    const { clock, random, sixCalls, ...rest } = options;
    const settings = resolveServerOptions({ ...rest, rateLimit: false, production: false });
    const restart = await RestartGuard.open({ settings, clock, random, log: silentLog });
    const serverId = newServerId(random);
    const parts = new ServerParts({ settings, clock, random, log: silentLog, serverId, restart });
    observe((parts.host as unknown as { engine: Engine }).engine, witness);
    await restart.guard(
      parts.host,
      () => parts.sessions.longestLeaseMs,
      () => undefined,
    );
    const handlers: Record<string, unknown> = { ...parts.handlers() };
    if (sixCalls) delete handlers.Channel;
    return new ServerLife(parts, restart, handlers, clock, isSlow);
  }

  /** As `LockServer.close`. */
  async drain(limitMs: number): Promise<void> {
    const cutOff = await this.parts.drain.run(Math.ceil(limitMs));
    const { kept } = this.parts.host.stats();
    this.parts.host.stop();
    await this.restart.close(cutOff === 0 && kept === 0);
  }

  begin(path: string, wire: SimWire, replies: CallReplies): ServerCall {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const handler = this.handlers[name];
    if (handler === undefined) {
      replies.end({ code: status.UNIMPLEMENTED, details: 'unknown method' });
      return { message: () => undefined, closed: () => undefined };
    }
    const open = new OpenCall(path, wire.clientNode.name, this.clock.monoMs());
    // The gate finds a call by this object; nothing of it is read.
    const metadata = {} as Metadata;
    this.parts.gate.calls.set(metadata, open);
    if (name === 'Channel' || name === 'WatchSession')
      return this.stream(handler as StreamHandler, metadata, open, wire, replies);
    return {
      message: (request) =>
        (handler as UnaryHandler)({ metadata, request }, (error, answer) => {
          if (open.closed) return;
          open.written = wire.open;
          if (error === null) replies.message(answer);
          replies.end(error ?? undefined);
          open.close();
        }),
      closed: () => open.close(),
    };
  }

  private stream(
    handler: StreamHandler,
    metadata: Metadata,
    open: OpenCall,
    wire: SimWire,
    replies: CallReplies,
  ): ServerCall {
    const stream = new ServerStream(metadata, wire, replies, this.isSlow, this.clock, () => open.close());
    handler(stream);
    return {
      message: (message) => {
        if (!stream.over) stream.emit('data', message);
      },
      halfClosed: () => void (stream.over || stream.emit('end')),
      closed: () => {
        stream.cancelled = true;
        stream.over = true;
        open.close();
      },
    };
  }
}

/** The server's end of a stream, as grpc-js gives it out. */
class ServerStream extends EventEmitter {
  cancelled = false;
  over = false;
  readonly writableLength = 0;

  constructor(
    readonly metadata: Metadata,
    private readonly wire: SimWire,
    private readonly replies: CallReplies,
    private readonly isSlow: () => boolean,
    private readonly clock: Clock,
    private readonly close: () => void,
  ) {
    super();
  }

  write(message: unknown): boolean {
    if (!this.over && this.wire.open) this.replies.message(message);
    if (!this.isSlow()) return true;
    this.clock.after(50, () => this.emit('drain'));
    return false;
  }

  end(): void {
    if (this.over) return;
    this.over = true;
    this.replies.end();
    queueMicrotask(this.close);
  }

  destroy(): void {
    this.end();
  }
}

function observe(engine: Engine, witness: EngineWitness): void {
  const apply = engine.apply.bind(engine);
  engine.apply = (command, nowMs) => {
    const outcome = apply(command, nowMs);
    witness(command, outcome, nowMs);
    return outcome;
  };
}
