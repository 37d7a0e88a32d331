import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
} from '@grpc/grpc-js';
import { FakeClock } from '../core/fake-clock.js';
import {
  type ClientWatchMessage,
  CloseSessionRequest,
  CreateSessionRequest,
  HeartbeatRequest,
  LockRequest,
  lockService,
  ReleaseRequest,
  type ServerEvent,
} from '../rpc/index.js';
import { LockServer, type LogFacts, type LogLevel, type ServerLog, type ServerOptions } from './index.js';

interface UnaryMethod<Q, A> {
  readonly path: string;
  readonly requestSerialize: (request: Q) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => A;
}

export interface Call<A> {
  readonly answer: Promise<A>;
  cancel(): void;
}

/** A client that sends exactly what it is told to, for tests of the server. */
export class WireClient {
  private readonly client: Client;
  private requests = 0;

  constructor(
    address: string,
    private readonly authorization?: string,
  ) {
    this.client = new Client(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
    });
  }

  unary<Q, A>(method: UnaryMethod<Q, A>, request: Q, options: CallOptions = {}): Call<A> {
    let cancel = (): void => undefined;
    const answer = new Promise<A>((resolve, reject) => {
      const call = this.client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        this.metadata(),
        { deadline: Date.now() + 20_000, ...options },
        (error: ServiceError | null, value?: A) => (error === null ? resolve(value!) : reject(error)),
      );
      cancel = () => call.cancel();
    });
    answer.catch(() => undefined);
    return { answer, cancel };
  }

  create(fields: Partial<CreateSessionRequest> = {}) {
    const request = CreateSessionRequest.create({ protocolVersion: '1', ...fields });
    return this.unary(lockService.CreateSession, request).answer;
  }

  async session(leaseMs = 60_000n): Promise<string> {
    const { sessionId, error } = await this.create({ leaseMs });
    if (error !== undefined) throw new Error(error.code);
    return sessionId;
  }

  heartbeat(sessionId: string, fields: Partial<HeartbeatRequest> = {}) {
    const request = HeartbeatRequest.create({ protocolVersion: '1', sessionId, ...fields });
    return this.unary(lockService.Heartbeat, request).answer;
  }

  acquiring(fields: Partial<LockRequest>, options: CallOptions = {}) {
    const request = LockRequest.create({
      scope: fields.p2 === undefined ? 'l1' : 'l2',
      p1: 'p1',
      timeoutMs: 10_000n,
      requestId: `acq_${++this.requests}`,
      protocolVersion: '1',
      ...fields,
    });
    return this.unary(lockService.Acquire, request, options);
  }

  acquire(fields: Partial<LockRequest>, options: CallOptions = {}) {
    return this.acquiring(fields, options).answer;
  }

  release(fields: Partial<ReleaseRequest>) {
    const request = ReleaseRequest.create({
      requestId: `rel_${++this.requests}`,
      protocolVersion: '1',
      ...fields,
    });
    return this.unary(lockService.Release, request).answer;
  }

  closeSession(sessionId: string, fields: Partial<CloseSessionRequest> = {}) {
    const request = CloseSessionRequest.create({ protocolVersion: '1', sessionId, ...fields });
    return this.unary(lockService.CloseSession, request).answer;
  }

  watch(first?: { readonly sessionId: string; readonly protocolVersion?: string }): Watched {
    const { path, requestSerialize, responseDeserialize } = lockService.WatchSession;
    const stream = this.client.makeBidiStreamRequest(
      path,
      requestSerialize,
      responseDeserialize,
      this.metadata(),
    );
    const watched = new Watched(stream);
    if (first !== undefined) stream.write({ protocolVersion: '1', ...first });
    return watched;
  }

  close(): void {
    this.client.close();
  }

  private metadata(): Metadata {
    const metadata = new Metadata();
    if (this.authorization !== undefined) metadata.set('authorization', this.authorization);
    return metadata;
  }
}

type WatchStream = ClientDuplexStream<ClientWatchMessage, ServerEvent>;

/** One watch stream and what came on it. */
export class Watched {
  readonly events: ServerEvent[] = [];
  /** Status code of the end. */
  readonly ended: Promise<number>;
  private readonly waiting = new Set<() => void>();

  constructor(readonly stream: WatchStream) {
    stream.on('data', (event: ServerEvent) => {
      this.events.push(event);
      for (const look of this.waiting) look();
    });
    stream.on('error', () => undefined);
    this.ended = new Promise((resolve) => stream.on('status', ({ code }) => resolve(code)));
  }

  /** The event with this index, past or to come. */
  event(index = 0): Promise<ServerEvent> {
    return new Promise((resolve) => {
      const look = (): void => {
        const event = this.events[index];
        if (event === undefined) return;
        this.waiting.delete(look);
        resolve(event);
      };
      this.waiting.add(look);
      look();
    });
  }
}

/** Keeps what a server logs. */
export class RecordingLog implements ServerLog {
  readonly records: (LogFacts & { readonly level: LogLevel; readonly event: string })[] = [];

  enabled(): boolean {
    return true;
  }

  write(level: LogLevel, event: string, facts: LogFacts = {}): void {
    this.records.push({ level, event, ...facts });
  }

  find(event: string) {
    return this.records.find((record) => record.event === event);
  }
}

export interface Rig {
  readonly server: LockServer;
  readonly client: WireClient;
  readonly clock: FakeClock;
  readonly log: RecordingLog;
  /** One more client on a connection of its own. */
  connect(authorization?: string): WireClient;
  end(): Promise<void>;
}

const open = new Set<Rig>();

/** Ends every rig a test left open, failed ones included. */
export async function endRigs(): Promise<void> {
  for (const one of open) await one.end();
}

/** A server on a free port with a clock that stands still, and a client of it. */
export async function rig(options: ServerOptions = {}): Promise<Rig> {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const server = new LockServer({ address: '127.0.0.1:0', clock, log, rateLimit: false, ...options });
  await server.start();
  const clients: WireClient[] = [];
  const connect = (authorization?: string): WireClient => {
    const client = new WireClient(server.address, authorization);
    clients.push(client);
    return client;
  };
  const client = connect(options.authToken === undefined ? undefined : `Bearer ${options.authToken}`);
  const made: Rig = {
    server,
    client,
    clock,
    log,
    connect,
    end: async () => {
      open.delete(made);
      for (const one of clients) one.close();
      await untilDone(server.close({ graceMs: 0 }), clock);
    },
  };
  open.add(made);
  return made;
}

/** Moves the fake clock until the work is done: for what waits on both sockets and time. */
export async function untilDone<T>(work: Promise<T>, clock: FakeClock, stepMs = 100): Promise<T> {
  let done = false;
  void work.then(
    () => (done = true),
    () => (done = true),
  );
  while (!done) {
    await realPause(5);
    if (!done) await clock.advance(stepMs);
  }
  return work;
}

/** Waits in real time, for sockets, until the condition is true. */
export async function until(condition: () => boolean, withinMs = 5_000): Promise<void> {
  const start = performance.now();
  while (!condition()) {
    if (performance.now() - start > withinMs)
      throw new Error(`not within ${withinMs} ms: ${condition.toString()}`);
    await realPause(2);
  }
}

export function realPause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
