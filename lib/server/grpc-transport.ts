import {
  Server,
  ServerCredentials,
  type ServerInterceptor,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { Clock } from '../core/index.js';
import { lockService, MAX_MESSAGE_BYTES } from '../rpc/index.js';
import type { BindAddress } from './bind-address.js';
import { Listener } from './listener.js';
import { KEEPALIVE_TIME_MS, KEEPALIVE_TIMEOUT_MS, MAX_STREAMS_PER_CONNECTION } from './server-limits.js';
import type { ServerLog } from './server-log.js';

/** After how much silence a connection is asked whether it is alive, and how long it has to answer. */
export interface Keepalive {
  readonly timeMs: number;
  readonly timeoutMs: number;
}

export interface TransportParts {
  readonly keepalive?: Keepalive;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly maxConnections: number;
  readonly interceptor: ServerInterceptor;
  readonly handlers: UntypedServiceImplementation;
}

const KEEPALIVE: Keepalive = { timeMs: KEEPALIVE_TIME_MS, timeoutMs: KEEPALIVE_TIMEOUT_MS };

/** The gRPC side of a server: connections, HTTP/2 limits, start and stop. */
export class GrpcTransport {
  private constructor(
    private readonly server: Server,
    private readonly listener: Listener,
    private readonly clock: Clock,
    readonly address: string,
    readonly port: number,
  ) {}

  /** @throws BackendStateError where the address cannot be bound. */
  static async open(address: BindAddress, parts: TransportParts): Promise<GrpcTransport> {
    const { timeMs, timeoutMs } = parts.keepalive ?? KEEPALIVE;
    const server = new Server({
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
      'grpc.keepalive_time_ms': timeMs,
      'grpc.keepalive_timeout_ms': timeoutMs,
      'grpc.enable_channelz': 0,
      interceptors: [parts.interceptor],
    });
    server.addService(lockService, parts.handlers);
    const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
    try {
      const listener = await Listener.open(address, injector, parts);
      return new GrpcTransport(server, listener, parts.clock, listener.address, listener.port);
    } catch (error) {
      server.forceShutdown();
      throw error;
    }
  }

  get connections(): number {
    return this.listener.connections;
  }

  /** Lets answers under way out for up to `graceMs`, then ends every connection. */
  async close(graceMs: number): Promise<void> {
    this.listener.stopAccepting();
    await new Promise<void>((resolve) => {
      const limit = this.clock.after(graceMs, resolve);
      this.server.tryShutdown(() => {
        limit.cancel();
        resolve();
      });
    });
    this.server.forceShutdown();
    this.listener.destroy();
  }
}
