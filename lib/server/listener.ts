import type { ConnectionInjector } from '@grpc/grpc-js';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { BackendStateError, type Clock, quote } from '../core/index.js';
import { type BindAddress, formatAddress } from './bind-address.js';
import { PREFACE_BYTES, PREFACE_TIMEOUT_MS } from './server-limits.js';
import { causeText, type ServerLog } from './server-log.js';

/**
 * Accepts connections and hands them to grpc-js. Its own listener leaves the 'error' event of the listening socket
 * unheard, so that running out of file descriptors would end the process.
 */
export class Listener {
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly log: ServerLog,
  ) {}

  /** @throws BackendStateError where the address cannot be bound. */
  static async open(
    { host, port }: BindAddress,
    injector: ConnectionInjector,
    parts: { readonly clock: Clock; readonly log: ServerLog; readonly maxConnections: number },
  ): Promise<Listener> {
    const server = createServer({ noDelay: true, keepAlive: true });
    server.maxConnections = parts.maxConnections;
    const listener = new Listener(server, parts.log);
    server.on('connection', (socket) => listener.accept(socket, injector, parts.clock));
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        const where = quote(`${host ?? ''}:${port}`);
        reject(new BackendStateError(`cannot listen on ${where}`, { cause, code: 'BACKEND_MISCONFIGURED' }));
      });
      server.listen(host === undefined ? { port } : { host, port }, resolve);
    });
    server.on('error', (cause) => parts.log.write('error', 'accept_failed', { cause: causeText(cause) }));
    return listener;
  }

  /** `host:port` as bound. */
  get address(): string {
    const { address, port } = this.server.address() as AddressInfo;
    return formatAddress(address, port);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Open connections. */
  get connections(): number {
    return this.sockets.size;
  }

  /** Accepts nobody from now on. */
  stopAccepting(): void {
    this.server.close();
  }

  /** Ends what is still connected. */
  destroy(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  private accept(socket: Socket, injector: ConnectionInjector, clock: Clock): void {
    this.sockets.add(socket);
    const limit = clock.after(PREFACE_TIMEOUT_MS, () => {
      if (socket.bytesRead < PREFACE_BYTES) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      limit.cancel();
      this.sockets.delete(socket);
    });
    try {
      injector.injectConnection(socket);
    } catch (cause) {
      this.log.write('error', 'connection_failed', { cause: causeText(cause) });
      socket.destroy();
    }
  }
}
