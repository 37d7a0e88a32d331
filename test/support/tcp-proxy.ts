import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { resetSocket } from './reset-socket.js';
import { ProxyFlow, type Conditions, type Direction } from './tcp-proxy-flow.js';

export type { Direction } from './tcp-proxy-flow.js';

export interface TcpProxyOptions {
  readonly target: { readonly port: number; readonly host?: string };
  /** Port to listen on; any free one unless given. */
  readonly port?: number;
}

export interface Weather {
  /** Each direction waits this long: half of the round trip added. */
  readonly latencyMs?: number;
  /** Up to this much more, anew for each chunk; order is kept. */
  readonly jitterMs?: number;
  readonly bytesPerSecond?: number;
  /** How much later than the data before it the end of a connection is passed on. */
  readonly closeDelayMs?: number;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly up: ProxyFlow;
  readonly down: ProxyFlow;
}

/** Connections that were cut off from everything, while new ones work. */
export interface Stranded {
  /** The client's side is reset: it learns at once, the server does not. */
  breakOff(): void;
  /** What the client had sent arrives now, late, and what it sends from now on; how many bytes were waiting. */
  deliver(): number;
  /** Resets what is left. */
  end(): void;
}

const CLEAR: Required<Weather> = { latencyMs: 0, jitterMs: 0, bytesPerSecond: Infinity, closeDelayMs: 0 };

/**
 * A TCP proxy that can be made a bad network: slow, silent one way or both, resetting, refusing.
 * `up` is from the client to the server, `down` the way back.
 */
export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  private readonly conditions: Record<Direction, Conditions> = {
    up: { ...CLEAR, silent: undefined },
    down: { ...CLEAR, silent: undefined },
  };
  private server: Server | undefined;

  private constructor(
    private readonly target: { port: number; host: string },
    private listenPort: number,
  ) {}

  static async start({ target, port = 0 }: TcpProxyOptions): Promise<TcpProxy> {
    const proxy = new TcpProxy({ host: '127.0.0.1', ...target }, port);
    await proxy.accept();
    return proxy;
  }

  get port(): number {
    return this.listenPort;
  }

  /** Connections open through the proxy now. */
  get connections(): number {
    return this.pairs.size;
  }

  /** Sets the named conditions for both directions, or one; what is not named stays. */
  setWeather(weather: Weather, direction: Direction | 'both' = 'both'): void {
    for (const each of directions(direction)) Object.assign(this.conditions[each], weather);
  }

  /**
   * From now on nothing passes, also no end and no reset: the network swallows every packet. Connecting still
   * succeeds, as it does to a port whose process is stopped. What is swallowed is sent again at {@link heal},
   * as TCP does, unless `lost` is set: then {@link heal} resets the connections that lost something.
   */
  silence(direction: Direction | 'both' = 'both', { lost = false } = {}): void {
    for (const each of directions(direction)) this.conditions[each].silent = lost ? 'losing' : 'keeping';
  }

  /** Ends {@link silence}. */
  heal(): void {
    for (const each of directions('both')) this.conditions[each].silent = undefined;
    for (const pair of this.pairs) {
      if (pair.up.hasLost || pair.down.hasLost) reset(pair);
      else for (const flow of [pair.up, pair.down]) flow.pump();
    }
  }

  /** Resets (RST) every open connection on both sides; new ones may come. */
  reset(): void {
    for (const pair of this.pairs) reset(pair);
  }

  /** Nothing passes any more on the connections open now, both ways; those made later are not concerned. */
  strand(): Stranded {
    const pairs = [...this.pairs].filter(({ client }) => !client.destroyed);
    for (const { up, down } of pairs) for (const flow of [up, down]) flow.strand();
    return {
      breakOff: () => {
        for (const { client } of pairs) resetSocket(client);
      },
      deliver: () => pairs.reduce((bytes, { up }) => bytes + up.deliver(), 0),
      end: () => {
        for (const pair of pairs) reset(pair);
      },
    };
  }

  /** Closes the port: connecting is refused. Open connections stay. */
  async refuse(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    // the callback waits for open connections too, the port is closed at once
    server?.close();
    await Promise.resolve();
  }

  /** Opens the port again after {@link refuse}. */
  async accept(): Promise<void> {
    if (this.server) return;
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.connect(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.listenPort, '127.0.0.1', resolve);
    });
    this.listenPort = (server.address() as AddressInfo).port;
    this.server = server;
  }

  async stop(): Promise<void> {
    await this.refuse();
    for (const { client, server, up, down } of this.pairs) {
      up.stop();
      down.stop();
      client.destroy();
      server.destroy();
    }
    this.pairs.clear();
  }

  private connect(client: Socket): void {
    const server = createConnection({ ...this.target, allowHalfOpen: true, noDelay: true });
    const pair: Pair = {
      client,
      server,
      up: new ProxyFlow(client, server, this.conditions.up),
      down: new ProxyFlow(server, client, this.conditions.down),
    };
    this.pairs.add(pair);
    const forget = (): void => {
      if (client.closed && server.closed) this.pairs.delete(pair);
    };
    client.once('close', forget);
    server.once('close', forget);
  }
}

function directions(direction: Direction | 'both'): readonly Direction[] {
  return direction === 'both' ? ['up', 'down'] : [direction];
}

function reset({ client, server, up, down }: Pair): void {
  up.stop();
  down.stop();
  resetSocket(client);
  resetSocket(server);
}
