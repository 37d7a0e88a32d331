import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ClientDuplexStream,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import {
  Ask,
  lockService,
  PROTOCOL_VERSION,
  type ChannelAnswer,
  type ChannelHello,
  type ChannelOperation,
  type ClientFrame,
  type CloseSessionRequest,
  type CloseSessionResponse,
  type ServerFrame,
} from '../../lib/rpc/index.js';
import { until } from './client-rig.js';

const NO_CLIENT_FRAME: ClientFrame = {
  hello: undefined,
  received: 0,
  renewal: undefined,
  firstOperation: 0,
  operations: [],
  goodbye: false,
};
const NO_SERVER_FRAME: ServerFrame = {
  welcome: undefined,
  received: 0,
  renewed: undefined,
  pages: [],
  firstMessage: 0,
  answers: [],
  ended: undefined,
};
const NO_OPERATION: ChannelOperation = {
  ask: Ask.Acquire,
  l1: '',
  l2: '',
  waitMs: 0,
  span: 1,
  metadata: undefined,
  of: 0,
  keepMs: 0,
};

/** One operation; what is not named is at its default. */
export function operationOf(fields: Partial<ChannelOperation>): ChannelOperation {
  return { ...NO_OPERATION, ...fields };
}

/** A client's stream of a channel that sends exactly what it is told to, and acknowledges nothing by itself. */
export class RawChannel {
  readonly frames: ServerFrame[] = [];
  readonly answers: ChannelAnswer[] = [];
  over = false;
  sessionId = '';
  private readonly client: Client;
  private readonly stream: ClientDuplexStream<ClientFrame, ServerFrame>;

  constructor(address: string, hello: Partial<ChannelHello> = {}, received = 0) {
    this.client = new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    const { path, requestSerialize, responseDeserialize } = lockService.Channel;
    this.stream = this.client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      new Metadata(),
    );
    this.stream.on('data', (frame: ServerFrame) => this.read(frame));
    this.stream.on('error', () => (this.over = true));
    this.stream.on('end', () => (this.over = true));
    const whole = {
      protocolVersion: PROTOCOL_VERSION,
      expectedServer: '',
      sessionId: '',
      leaseMs: 60_000,
      incarnation: 1,
      client: '',
      host: '',
      ...hello,
    };
    this.write({ hello: whole, received });
  }

  /** Resolves with the first answer of this operation. */
  async answer(operation: number, withinMs?: number): Promise<ChannelAnswer> {
    const find = (): ChannelAnswer | undefined =>
      this.answers.find((answer) => answer.operation === operation);
    await until(() => find() !== undefined, withinMs);
    return find() as ChannelAnswer;
  }

  /** The server has welcomed it. */
  async welcomed(): Promise<void> {
    await until(() => this.sessionId !== '');
  }

  write(frame: Partial<ClientFrame>): void {
    this.stream.write({ ...NO_CLIENT_FRAME, ...frame });
  }

  /** Sends operations numbered from `firstOperation` on, in frames of 2,000. */
  ask(firstOperation: number, operations: readonly ChannelOperation[], received = 0): void {
    for (let at = 0; at < operations.length; at += 2_000)
      this.write({
        received,
        firstOperation: firstOperation + at,
        operations: operations.slice(at, at + 2_000),
      });
  }

  /** Stops reading: what comes piles up on the way. */
  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    this.stream.resume();
  }

  /** Breaks the stream. */
  cut(): void {
    this.stream.cancel();
  }

  close(): void {
    this.stream.cancel();
    this.client.close();
  }

  private read(frame: ServerFrame): void {
    this.frames.push(frame);
    this.answers.push(...frame.answers);
    if (frame.welcome !== undefined) this.sessionId = frame.welcome.sessionId;
  }
}

/** One stream as {@link RawChannelServer} sees it. */
export class RawServerStream {
  readonly frames: ClientFrame[] = [];
  halfClosed = false;

  constructor(private readonly stream: ServerDuplexStream<ClientFrame, ServerFrame>) {
    stream.on('error', () => undefined);
    stream.on('end', () => {
      this.halfClosed = true;
      stream.end();
    });
  }

  get operations(): number {
    return this.frames.reduce((sum, { operations }) => sum + operations.length, 0);
  }

  write(frame: Partial<ServerFrame>): void {
    this.stream.write({ ...NO_SERVER_FRAME, ...frame });
  }

  /** Reads no more. */
  pause(): void {
    this.stream.pause();
  }

  resume(): void {
    this.stream.resume();
  }
}

/** A server that welcomes every channel and then says only what a test tells it to; it closes every session it is told to. */
export class RawChannelServer {
  readonly streams: RawServerStream[] = [];
  readonly closed: string[] = [];
  port = 0;
  private readonly server = new Server();

  static async start(): Promise<RawChannelServer> {
    const raw = new RawChannelServer();
    raw.server.addService(lockService, {
      Channel: (stream: ServerDuplexStream<ClientFrame, ServerFrame>) => raw.serve(stream),
      CloseSession: (
        { request }: ServerUnaryCall<CloseSessionRequest, CloseSessionResponse>,
        done: sendUnaryData<CloseSessionResponse>,
      ) => {
        raw.closed.push(request.sessionId);
        done(null, { closed: true, serverId: 'srv_raw', protocolVersion: PROTOCOL_VERSION });
      },
    });
    raw.port = await new Promise<number>((resolve, reject) => {
      raw.server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    return raw;
  }

  stop(): void {
    this.server.forceShutdown();
  }

  private serve(stream: ServerDuplexStream<ClientFrame, ServerFrame>): void {
    const raw = new RawServerStream(stream);
    this.streams.push(raw);
    stream.on('data', (frame: ClientFrame) => {
      raw.frames.push(frame);
      const { hello } = frame;
      if (hello === undefined) return;
      const sessionId = hello.sessionId || `sess_${this.streams.length}`;
      const { leaseMs, incarnation } = hello;
      const welcome = {
        protocolVersion: PROTOCOL_VERSION,
        serverId: 'srv_raw',
        sessionId,
        leaseMs: leaseMs || 60_000,
        incarnation,
      };
      raw.write({ welcome });
    });
  }
}
