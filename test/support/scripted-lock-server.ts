import {
  Server,
  ServerCredentials,
  type status,
  type handleUnaryCall,
  type sendUnaryData,
  type ServerDuplexStream,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import {
  errorStatus,
  lockService,
  PROTOCOL_VERSION,
  type ClientWatchMessage,
  type CloseSessionRequest,
  type CloseSessionResponse,
  type CreateSessionRequest,
  type HeartbeatRequest,
  type LockRequest,
  type LockResponse,
  type ReleaseRequest,
  type ReleaseResponse,
  type ServerEvent,
  type SessionResponse,
  type WireCode,
} from '../../lib/rpc/index.js';

interface Calls {
  CreateSession: [CreateSessionRequest, SessionResponse];
  Heartbeat: [HeartbeatRequest, SessionResponse];
  Acquire: [LockRequest, LockResponse];
  Release: [ReleaseRequest, ReleaseResponse];
  CloseSession: [CloseSessionRequest, CloseSessionResponse];
}
export type UnaryName = keyof Calls;
type Request<N extends UnaryName> = Calls[N][0];
type Response<N extends UnaryName> = Calls[N][1];

/** The script's answer `NEVER`: the call stays open. */
export const NEVER = Symbol('never');
/** A gRPC status instead of an answer. */
export class Status {
  constructor(readonly code: status) {}
}

/** One call the server has received. */
export interface SeenCall<N extends UnaryName = UnaryName> {
  readonly rpc: N;
  readonly request: Request<N>;
  readonly authorization: string | undefined;
  readonly at: number;
  /** The bound of the call as the client told it, from now. */
  readonly boundMs: number;
  /** The client cancelled it or its deadline passed. */
  cancelled: boolean;
}

type Answer<N extends UnaryName> = Response<N> | Partial<Response<N>> | Status | typeof NEVER;
/** `usual` does what a server would do and gives its answer; `nth` counts the calls of this RPC from 1. */
export type Script<N extends UnaryName> = (
  request: Request<N>,
  help: { readonly usual: () => Response<N>; readonly nth: number; readonly call: SeenCall<N> },
) => Answer<N> | Promise<Answer<N>>;

export interface ScriptedOptions {
  readonly port?: number;
  readonly serverId?: string;
  readonly credentials?: ServerCredentials;
}

/**
 * A lock server whose every answer a test can write. Unscripted it grants what is free and refuses what is taken, without
 * waiting; sessions never expire.
 */
export class ScriptedLockServer {
  readonly calls: SeenCall[] = [];
  readonly watches: Watch[] = [];
  /** How a new watch is met; by default it is established. */
  onWatch: (watch: Watch) => void = (watch) => watch.establish();
  serverId: string;
  protocolVersion = PROTOCOL_VERSION;
  port = 0;
  private readonly scripts = new Map<UnaryName, Script<UnaryName>>();
  private readonly sessions = new Set<string>();
  /** Tokens by key, then by request id. */
  readonly held = new Map<string, { token: string; session: string; requestId: string }>();
  private readonly endedRequests = new Set<string>();
  private fence = 0n;
  private made = 0;
  private server: Server | undefined;

  private constructor(options: ScriptedOptions) {
    this.serverId = options.serverId ?? 'srv_0000000000000001';
  }

  static async start(options: ScriptedOptions = {}): Promise<ScriptedLockServer> {
    const scripted = new ScriptedLockServer(options);
    await scripted.listen(options);
    return scripted;
  }

  get url(): string {
    return `klock://127.0.0.1:${this.port}`;
  }

  /** Answers this RPC by a script from now on; without one, as usual. */
  on<N extends UnaryName>(rpc: N, script?: Script<N>): void {
    if (script === undefined) this.scripts.delete(rpc);
    else this.scripts.set(rpc, script as unknown as Script<UnaryName>);
  }

  /** Calls of one RPC so far. */
  seen<N extends UnaryName>(rpc: N): SeenCall<N>[] {
    return this.calls.filter((call) => call.rpc === rpc) as unknown as SeenCall<N>[];
  }

  /** A refusal as the answer to any RPC. */
  refuse(
    code: WireCode,
    message = `told ${code}`,
    serverId = this.serverId,
  ): { error: ReturnType<typeof errorStatus> } {
    return { error: errorStatus(code, message, serverId) };
  }

  /** Forgets all sessions and locks, as a new process would. */
  forget(serverId = this.serverId): void {
    this.serverId = serverId;
    this.sessions.clear();
    this.held.clear();
  }

  /** Ends the process: every connection breaks. */
  stop(): Promise<void> {
    this.server?.forceShutdown();
    return Promise.resolve();
  }

  async listen({
    port = 0,
    credentials = ServerCredentials.createInsecure(),
  }: ScriptedOptions): Promise<void> {
    const server = new Server();
    server.addService(lockService, {
      CreateSession: this.unary('CreateSession', (request) => this.createSession(request)),
      Heartbeat: this.unary('Heartbeat', (request) => this.heartbeat(request)),
      Acquire: this.unary('Acquire', (request) => this.acquire(request)),
      Release: this.unary('Release', (request) => this.release(request)),
      CloseSession: this.unary('CloseSession', (request) => this.closeSession(request)),
      WatchSession: (stream: ServerDuplexStream<ClientWatchMessage, ServerEvent>) => this.watch(stream),
    });
    this.port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    this.server = server;
  }

  /** Resolves once `count` calls of this RPC were received. */
  async received(rpc: UnaryName, count: number): Promise<void> {
    while (this.seen(rpc).length < count) await new Promise((resolve) => setTimeout(resolve, 2));
  }

  private unary<N extends UnaryName>(rpc: N, usual: (request: Request<N>) => Partial<Response<N>>) {
    const handle = async (
      call: ServerUnaryCall<Request<N>, Response<N>>,
      done: sendUnaryData<Response<N>>,
    ): Promise<void> => {
      const [authorization] = call.metadata.get('authorization') as string[];
      const seen: SeenCall<N> = {
        rpc,
        request: call.request,
        authorization,
        at: performance.now(),
        boundMs: Number(call.getDeadline()) - Date.now(),
        cancelled: false,
      };
      this.calls.push(seen);
      call.on('cancelled', () => (seen.cancelled = true));
      const nth = this.seen(rpc).length;
      const make = (): Response<N> => this.complete(rpc, usual(call.request));
      const script = this.scripts.get(rpc) as unknown as Script<N> | undefined;
      const answer =
        script === undefined ? make() : await script(call.request, { usual: make, nth, call: seen });
      if (answer === NEVER) return;
      if (answer instanceof Status) done({ code: answer.code, details: 'as scripted' });
      else done(null, this.complete(rpc, answer));
    };
    const handler: handleUnaryCall<Request<N>, Response<N>> = (call, done) => void handle(call, done);
    return handler;
  }

  private complete<N extends UnaryName>(rpc: N, answer: Partial<Response<N>>): Response<N> {
    const own =
      answer.error === undefined ? { serverId: this.serverId, protocolVersion: this.protocolVersion } : {};
    const empty = lockService[rpc].responseDeserialize(Buffer.alloc(0)) as unknown as Response<N>;
    return { ...empty, ...own, ...answer };
  }

  private createSession(request: CreateSessionRequest): Partial<SessionResponse> {
    const sessionId = `sess_${++this.made}`;
    this.sessions.add(sessionId);
    return { sessionId, leaseMs: request.leaseMs };
  }

  private heartbeat({ sessionId, expectedServer }: HeartbeatRequest): Partial<SessionResponse> {
    const wrong = this.wrong(sessionId, expectedServer);
    if (wrong !== undefined) return wrong;
    return { sessionId, ...this.leaseOf(sessionId) };
  }

  private leaseOf(sessionId: string): { leaseMs: bigint } {
    const nth = [...this.calls.filter((call) => call.rpc === 'CreateSession')];
    const index = Number(sessionId.slice('sess_'.length)) - 1;
    return { leaseMs: (nth[index] as SeenCall<'CreateSession'> | undefined)?.request.leaseMs ?? 60_000n };
  }

  private acquire(request: LockRequest): Partial<LockResponse> {
    const wrong = this.wrong(request.sessionId, request.expectedServer);
    if (wrong !== undefined) return wrong;
    const { scope, p1, p2, sessionId, requestId } = request;
    const key = `${scope}/${p1}/${p2}`;
    if (this.endedRequests.has(`${sessionId}/${requestId}`)) return this.refuse('IDEMPOTENCY_CONFLICT');
    const holder = this.held.get(key);
    if (holder !== undefined && holder.requestId !== requestId) return this.refuse('LOCK_TIMEOUT');
    const token = holder?.token ?? `lk_${++this.made}`;
    if (holder === undefined) this.fence++;
    this.held.set(key, { token, session: sessionId, requestId });
    return { token, fence: this.fence, scope, p1, p2, sessionId };
  }

  private release({ sessionId, token, expectedServer }: ReleaseRequest): Partial<ReleaseResponse> {
    const wrong = this.wrong(sessionId, expectedServer);
    if (wrong !== undefined) return wrong;
    for (const [key, held] of this.held) {
      if (held.token !== token || held.session !== sessionId) continue;
      this.held.delete(key);
      this.endedRequests.add(`${sessionId}/${held.requestId}`);
      return { ok: true };
    }
    return this.refuse('LOCK_NOT_FOUND');
  }

  private closeSession({ sessionId }: CloseSessionRequest): Partial<CloseSessionResponse> {
    if (!this.sessions.delete(sessionId)) return this.refuse('SESSION_NOT_FOUND');
    for (const [key, held] of this.held) if (held.session === sessionId) this.held.delete(key);
    return { closed: true };
  }

  private wrong(
    sessionId: string,
    expectedServer: string,
  ): { error: ReturnType<typeof errorStatus> } | undefined {
    if (expectedServer !== '' && expectedServer !== this.serverId)
      return this.refuse('SERVER_INSTANCE_MISMATCH');
    return this.sessions.has(sessionId) ? undefined : this.refuse('SESSION_NOT_FOUND');
  }

  private watch(stream: ServerDuplexStream<ClientWatchMessage, ServerEvent>): void {
    const watch = new Watch(stream, this);
    this.watches.push(watch);
    stream.on('error', () => undefined);
    stream.once('data', (message: ClientWatchMessage) => {
      watch.sessionId = message.sessionId;
      this.onWatch(watch);
    });
  }
}

/** One watch stream as the server sees it. */
export class Watch {
  sessionId = '';
  readonly openedAt = performance.now();
  /** The client closed its side: it must not. */
  halfClosed = false;
  cancelled = false;

  constructor(
    private readonly stream: ServerDuplexStream<ClientWatchMessage, ServerEvent>,
    private readonly server: ScriptedLockServer,
  ) {
    stream.on('end', () => (this.halfClosed = true));
    stream.on('cancelled', () => (this.cancelled = true));
  }

  establish(): void {
    this.tell('WATCH_ESTABLISHED');
  }

  invalidate(code: string, message = ''): void {
    this.tell('SESSION_INVALIDATED', code, message);
    this.stream.end();
  }

  tell(type: string, code = '', message = ''): void {
    const { serverId, protocolVersion } = this.server;
    this.stream.write({ type, code, message, sessionId: this.sessionId, serverId, protocolVersion });
  }

  end(): void {
    this.stream.end();
  }

  fail(code: status): void {
    this.stream.emit('error', { code, details: 'as scripted' });
  }
}
