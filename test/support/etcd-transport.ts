import type { Method } from '../../lib/drivers/etcd/methods.js';
import {
  CallError,
  type Stream,
  type StreamListener,
  type Transport,
} from '../../lib/drivers/etcd/transport.js';

export type { Method, Transport };
export { CallError };

type UnaryOptions = { readonly timeoutMs: number; readonly token: string | undefined };

/** One call on its way to a real etcd. */
export interface CallOnItsWay {
  readonly member: number;
  readonly path: string;
  readonly request: unknown;
  /** How many calls of this path there were before it. */
  readonly index: number;
}

/** What becomes of a call. `lose-request`: never sent; `lose-reply`: carried out, its answer lost; a number: held back that long, its caller told at once that it is unresolved. */
export type Fate = 'pass' | 'lose-request' | 'lose-reply' | number;

/** A transport that loses, doubles and delays single calls of a real one. */
export class FaultyTransport implements Transport {
  readonly calls: CallOnItsWay[] = [];
  fate: (call: CallOnItsWay) => Fate = () => 'pass';
  /** Messages of streams are held back this long. */
  streamDelayMs = 0;
  /** Replies of calls whose callers had given up. */
  readonly late: Promise<unknown>[] = [];

  constructor(private readonly inner: Transport) {}

  get members(): number {
    return this.inner.members;
  }

  async unary<Req, Res>(
    member: number,
    method: Method<Req, Res>,
    request: Partial<Req>,
    options: UnaryOptions,
  ): Promise<Res> {
    const { path } = method;
    const index = this.calls.filter((call) => call.path === path).length;
    const call = { member, path, request, index };
    this.calls.push(call);
    const fate = this.fate(call);
    if (fate === 'pass') return await this.inner.unary(member, method, request, options);
    if (fate === 'lose-reply')
      await this.inner.unary(member, method, request, options).catch(() => undefined);
    if (typeof fate === 'number') {
      const sent = new Promise((resolve) => setTimeout(resolve, fate)).then(() =>
        this.inner.unary(member, method, request, options),
      );
      this.late.push(sent.catch((error: unknown) => error));
    }
    throw new CallError(14, 'lost by the test', member);
  }

  open<Req, Res>(
    member: number,
    method: Method<Req, Res>,
    listener: StreamListener<Res>,
    options: { readonly token: string | undefined },
  ): Stream<Req> {
    const stream = this.inner.open(member, method, listener, options);
    const { streamDelayMs } = this;
    if (streamDelayMs === 0) return stream;
    return {
      send: (message) => void setTimeout(() => stream.send(message), streamDelayMs),
      close: () => stream.close(),
    };
  }

  close(): void {
    // Late copies still have to be sent, long after their client has ended.
    void Promise.allSettled(this.late).then(() => this.inner.close());
  }
}

/** A stream that the test answers. */
export interface ScriptedStream {
  readonly member: number;
  readonly path: string;
  readonly sent: unknown[];
  readonly token: string | undefined;
  closed: boolean;
  answer(message: unknown): void;
  end(error: CallError): void;
}

/** A transport whose every answer the test writes. */
export class ScriptedTransport implements Transport {
  readonly calls: { member: number; path: string; request: unknown; token: string | undefined }[] = [];
  readonly streams: ScriptedStream[] = [];
  onUnary: (member: number, path: string, request: unknown) => unknown = () => {
    throw new CallError(14, 'nothing scripted', 0);
  };
  /** Called with each message of a stream. */
  onSend: (stream: ScriptedStream, message: unknown) => void = () => undefined;
  closed = false;

  constructor(readonly members = 1) {}

  async unary<Req, Res>(
    member: number,
    { path }: Method<Req, Res>,
    request: Partial<Req>,
    { token }: UnaryOptions,
  ): Promise<Res> {
    this.calls.push({ member, path, request, token });
    return (await this.onUnary(member, path, request)) as Res;
  }

  open<Req, Res>(
    member: number,
    { path }: Method<Req, Res>,
    listener: StreamListener<Res>,
    { token }: { readonly token: string | undefined },
  ): Stream<Req> {
    const stream: ScriptedStream = {
      member,
      path,
      token,
      sent: [],
      closed: false,
      answer: (message) => listener.message(message as Res),
      end: (error) => listener.ended(error),
    };
    this.streams.push(stream);
    return {
      send: (message) => {
        stream.sent.push(message);
        queueMicrotask(() => this.onSend(stream, message));
      },
      close: () => void (stream.closed = true),
    };
  }

  close(): void {
    this.closed = true;
  }
}
