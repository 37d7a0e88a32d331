import type { Method } from './methods.js';

/** A stream of messages both ways. */
export interface Stream<Req> {
  send(message: Partial<Req>): void;
  /** Ends it without waiting for the other side; the listener hears no more. */
  close(): void;
}

export interface StreamListener<Res> {
  message(message: Res): void;
  /** Once, unless we closed it. */
  ended(error: CallError): void;
}

/** How calls reach the members of the cluster. Knows nothing of locks, retries or which member to prefer. */
export interface Transport {
  /** How many there are; they are named by number from 0. */
  readonly members: number;
  /** @throws CallError */
  unary<Req, Res>(
    member: number,
    method: Method<Req, Res>,
    request: Partial<Req>,
    options: { readonly timeoutMs: number; readonly token: string | undefined },
  ): Promise<Res>;
  open<Req, Res>(
    member: number,
    method: Method<Req, Res>,
    listener: StreamListener<Res>,
    options: { readonly token: string | undefined },
  ): Stream<Req>;
  /** Ends everything under way; the transport is not used after it. */
  close(): void;
}

/** A call that failed, by the gRPC status it ended with. */
export class CallError extends Error {
  override readonly name = 'CallError';

  constructor(
    /** gRPC status code. */
    readonly status: number,
    readonly details: string,
    readonly member: number,
  ) {
    super(`etcd member ${member} answered with gRPC status ${status}: ${details}`);
  }
}
