import { EventEmitter } from 'node:events';
import type { Client, Metadata, ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import type { Clock } from '../../lib/core/index.js';
import type { Link, LinkListener } from '../../lib/client/link.js';
import type { Target } from '../../lib/client/client-options.js';
import type { Network, Pipe, SimNode } from '../../lib/testing/simulation/index.js';

/** A call as the server's end of a connection sees it. */
export interface ServerCall {
  /** A message of the client. */
  message(message: unknown): void;
  /** The client has said everything. */
  halfClosed?(): void;
  /** The call is over on this side: taken back, or its connection is gone. */
  closed(): void;
}

/** What a call says back. */
export interface CallReplies {
  message(message: unknown): void;
  /** In order if `failure` is undefined. */
  end(failure?: { readonly code: number; readonly details: string }): void;
}

/** The listening side. */
export interface WireServer {
  readonly node: SimNode;
  /** Undefined where nobody listens. */
  begin(path: string, wire: SimWire, replies: CallReplies): ServerCall;
  isSlow(node: SimNode): boolean;
  note(line: () => string): void;
}

/** One connection between two processes, and both ends' view of it. */
export class SimWire {
  readonly up: Pipe = { lastMs: 0 };
  readonly down: Pipe = { lastMs: 0 };
  /** Calls under way by the server's account. */
  readonly calls = new Set<ServerCall>();
  private serverOpen = true;
  private forgotten = false;

  constructor(
    readonly link: SimLink,
    readonly clientNode: SimNode,
    readonly server: WireServer,
    private readonly network: Network,
    readonly life: number,
  ) {}

  get open(): boolean {
    return this.serverOpen && this.server.node.life === this.life;
  }

  /** Something between the two has lost it: whatever either says from now on reaches nobody. */
  lose(): void {
    this.forgotten = true;
  }

  toServer(run: () => void, lossy = false): void {
    this.network.send(
      this.clientNode,
      this.server.node,
      this.up,
      () => {
        if (this.forgotten) return;
        if (this.open) run();
        // A machine that knows no such connection says so.
        else this.toClient(() => this.link.end(new Error('the connection was reset')));
      },
      lossy,
    );
  }

  toClient(run: () => void, lossy = false): void {
    this.network.send(
      this.server.node,
      this.clientNode,
      this.down,
      () => {
        if (!this.forgotten) run();
      },
      lossy,
    );
  }

  /** The server's process is gone: nobody is left there to be told. */
  forget(): void {
    this.serverOpen = false;
    this.calls.clear();
  }

  /** The server has learned that the connection is gone. */
  closeAtServer(): void {
    if (!this.serverOpen) return;
    this.serverOpen = false;
    for (const call of [...this.calls]) call.closed();
    this.calls.clear();
  }
}

/** One connection from the client's end, in the place of `lib/client/link.ts`: the same states, told in the same order. */
export class SimLink {
  readonly client: Client;
  wasReady = false;
  heardAtMs: number;
  silentSinceMs: number | undefined;
  private state: 'connecting' | 'ready' | 'over' = 'connecting';
  private readonly calls = new Set<ClientCall>();
  private readonly wire: SimWire;
  private readonly timer: { cancel(): void };

  constructor(
    readonly id: number,
    readonly target: Target,
    connectTimeoutMs: number,
    private readonly clock: Clock,
    private readonly listener: LinkListener,
    node: SimNode,
    server: WireServer,
    network: Network,
    wires: Set<SimWire>,
  ) {
    this.heardAtMs = clock.monoMs();
    this.wire = new SimWire(this, node, server, network, server.node.life);
    wires.add(this.wire);
    this.client = this.makeClient();
    this.timer = clock.after(connectTimeoutMs, () => this.end(new Error('connecting took too long')));
    const alive = server.node.alive;
    // The machine answers for a process that is not there; for one that is stopped it does, too.
    if (alive) this.wire.toServer(() => this.wire.toClient(() => this.becomeReady()));
    else this.wire.toClient(() => this.end(new Error('connection refused')));
  }

  get isReady(): boolean {
    return this.state === 'ready';
  }

  get isOver(): boolean {
    return this.state === 'over';
  }

  drop(): void {
    if (this.state === 'over') return;
    this.state = 'over';
    this.timer.cancel();
    this.wire.toServer(() => this.wire.closeAtServer());
    const failure = failed(status.UNAVAILABLE, 'the connection is gone');
    for (const call of [...this.calls]) queueMicrotask(() => call.end(failure));
    this.calls.clear();
  }

  declareDead(cause: unknown): void {
    this.end(cause);
  }

  /** It broke: the client learns of it now. */
  end(cause: unknown): void {
    if (this.state === 'over') return;
    this.drop();
    this.listener.linkOver(this as unknown as Link, cause);
  }

  private becomeReady(): void {
    if (this.state !== 'connecting') return;
    this.state = 'ready';
    this.wasReady = true;
    this.timer.cancel();
    this.heardAtMs = this.clock.monoMs();
    this.listener.linkReady(this as unknown as Link);
  }

  private makeClient(): Client {
    const client = {
      makeUnaryRequest: (
        path: string,
        _serialize: unknown,
        _deserialize: unknown,
        request: unknown,
        _metadata: Metadata,
        callback: (error: ServiceError | null, reply?: unknown) => void,
      ) => {
        let reply: unknown;
        const call = this.start(path, {
          message: (message) => (reply = message),
          end: (failure) => (failure === undefined ? callback(null, reply) : callback(failure)),
        });
        call.send(request, false);
        return { cancel: () => call.cancel() };
      },
      makeBidiStreamRequest: (path: string) => new ClientStream((on) => this.start(path, on), this.wire),
    };
    return client as unknown as Client;
  }

  private start(path: string, on: ClientCallListener): ClientCall {
    const call = new ClientCall(this.wire, path, on, () => this.calls.delete(call));
    if (this.state === 'over') queueMicrotask(() => call.end(failed(status.UNAVAILABLE, 'no connection')));
    else this.calls.add(call);
    return call;
  }
}

interface ClientCallListener {
  message(message: unknown): void;
  end(failure: ServiceError | undefined): void;
}

/** A call from the client's end. */
class ClientCall {
  private serverCall: ServerCall | undefined;
  private over = false;

  constructor(
    private readonly wire: SimWire,
    path: string,
    private readonly on: ClientCallListener,
    private readonly forget: () => void,
  ) {
    const replies: CallReplies = {
      message: (message) =>
        wire.toClient(() => {
          wire.server.note(
            () => `server -> ${wire.clientNode.name}: ${brief(message)}${this.over ? ' (over)' : ''}`,
          );
          if (!this.over) this.on.message(message);
        }, path.endsWith('/Channel')),
      end: (failure) => {
        if (this.serverCall !== undefined) wire.calls.delete(this.serverCall);
        wire.toClient(() => this.end(failure && failed(failure.code, failure.details)));
      },
    };
    wire.toServer(() => {
      this.serverCall = wire.server.begin(path, wire, replies);
      wire.calls.add(this.serverCall);
    });
  }

  send(message: unknown, lossy: boolean): void {
    if (this.over) return;
    this.wire.toServer(() => {
      this.wire.server.note(() => `${this.wire.clientNode.name} -> server: ${brief(message)}`);
      this.serverCall?.message(message);
    }, lossy);
  }

  /** Nothing more comes from this end. */
  halfClose(): void {
    if (!this.over) this.wire.toServer(() => this.serverCall?.halfClosed?.());
  }

  cancel(): void {
    if (this.over) return;
    this.wire.toServer(() => this.closeAtServer());
    queueMicrotask(() => this.end(failed(status.CANCELLED, 'cancelled')));
  }

  end(failure: ServiceError | undefined): void {
    if (this.over) return;
    this.over = true;
    this.forget();
    this.on.end(failure);
  }

  private closeAtServer(): void {
    if (this.serverCall === undefined) return;
    this.wire.calls.delete(this.serverCall);
    this.serverCall.closed();
  }
}

/** The client's end of a stream, as grpc-js gives it out. */
class ClientStream extends EventEmitter {
  private readonly call: ClientCall;
  private first = true;

  constructor(
    start: (on: ClientCallListener) => ClientCall,
    private readonly wire: SimWire,
  ) {
    super();
    this.call = start({
      message: (message) => this.emit('data', message),
      end: (failure) => (failure === undefined ? this.emit('end') : this.emit('error', failure)),
    });
  }

  write(message: unknown): boolean {
    // What a stream begins with is not lost without the stream being lost, or nobody would ever speak again.
    this.call.send(message, !this.first);
    this.first = false;
    const { clientNode, server } = this.wire;
    if (!server.isSlow(clientNode)) return true;
    clientNode.clock.after(50, () => this.emit('drain'));
    return false;
  }

  end(): void {
    this.call.halfClose();
  }

  cancel(): void {
    this.call.cancel();
  }
}

function failed(code: number, details: string): ServiceError {
  return Object.assign(new Error(details), { code, details }) as ServiceError;
}

/** A message in as few words as show what it does. */
function brief(message: unknown): string {
  const text = JSON.stringify(message, (_, part: unknown) => {
    if (typeof part === 'bigint') return String(part);
    return part === false || part === '' || (Array.isArray(part) && part.length === 0) ? undefined : part;
  });
  return text.replace(/[0-9a-f]{32}/g, (id) => id.slice(0, 6)).replaceAll('"', '');
}
