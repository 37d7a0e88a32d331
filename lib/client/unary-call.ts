import type { Metadata, MethodDefinition, ServiceError } from '@grpc/grpc-js';
import type { Clock, Instant } from '../core/index.js';
import type { CallOutcome, TransportStatus } from '../session/index.js';
import type { Connection } from './connection.js';
import type { Link } from './link.js';
import { transportStatus } from './transport-status.js';

/** Statuses that the library makes without having heard from the server. */
const MADE_HERE: ReadonlySet<TransportStatus> = new Set(['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED']);

/** A call under way. */
export interface PendingCall<T> {
  readonly outcome: Promise<CallOutcome<T>>;
  /** Ends the call here and, as far as the network allows, on the server; the outcome says so at once. */
  readonly cancel: () => void;
}

/** What every reply of the protocol carries. */
export interface WireReply {
  readonly serverId: string;
  readonly protocolVersion: string;
  readonly error?: {
    readonly status: number;
    readonly code: string;
    readonly message: string;
    readonly serverId: string;
  };
}

export interface CallContext {
  readonly clock: Clock;
  readonly connection: Connection;
  readonly metadata: Metadata;
}

/**
 * Sends one request on a link that is up. Always ends within `timeoutMs`, by a timer of our own.
 */
export function sendUnary<Q, R extends WireReply>(
  context: CallContext,
  link: Link,
  method: MethodDefinition<Q, R>,
  request: Q,
  timeoutMs: number,
): PendingCall<R> {
  const { clock, connection } = context;
  const sentAt = clock.now();
  let finish!: (outcome: CallOutcome<R>) => void;
  const outcome = new Promise<CallOutcome<R>>((resolve) => (finish = resolve));
  const failed = (status: TransportStatus, cause: unknown): void => {
    timer.cancel();
    finish({ kind: 'failed', status, cause, link: link.id, sentAt });
  };
  const timer = clock.after(timeoutMs, () => {
    failed('DEADLINE_EXCEEDED', new Error(`${method.originalName} was not answered within ${timeoutMs} ms`));
    call?.cancel();
    connection.unanswered(link, sentAt.monoMs);
  });
  const answered = (error: ServiceError | null, reply?: R): void => {
    timer.cancel();
    const status = transportStatus(error ?? {});
    if (!MADE_HERE.has(status)) link.heardAtMs = clock.monoMs();
    if (error !== null || reply === undefined) return failed(status, error);
    finish(outcomeOf(reply, link, sentAt));
  };
  const call = start(context, link, method, request, timeoutMs, answered);
  return {
    outcome,
    cancel: () => {
      failed('CANCELLED', new Error(`${method.originalName} was cancelled by the client`));
      call?.cancel();
    },
  };
}

function start<Q, R>(
  { metadata }: CallContext,
  link: Link,
  method: MethodDefinition<Q, R>,
  request: Q,
  timeoutMs: number,
  answered: (error: ServiceError | null, reply?: R) => void,
): { cancel(): void } | undefined {
  try {
    return link.client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      withTimeout(metadata, timeoutMs),
      answered,
    );
  } catch (error) {
    // A request that cannot be encoded, or a link closed in this very turn.
    answered(error as ServiceError);
    return undefined;
  }
}

/** Later than our own timer by this much: we are the ones who end the call, the server and proxies merely know the bound. */
const TOLD_LATER_MS = 100;
/** What fits into the header's eight digits of milliseconds, and into a timer of the server. */
const MAX_TOLD_MS = 99_999_999;

/** Tells the bound as a duration. The library would take an instant of the wall clock, which may be set. */
function withTimeout(metadata: Metadata, timeoutMs: number): Metadata {
  const told = metadata.clone();
  const ms = Math.ceil(timeoutMs) + TOLD_LATER_MS;
  if (ms <= MAX_TOLD_MS) told.set('grpc-timeout', `${ms}m`);
  return told;
}

function outcomeOf<R extends WireReply>(reply: R, link: Link, sentAt: Instant): CallOutcome<R> {
  if (reply.error === undefined) return { kind: 'answered', reply, link: link.id, sentAt };
  const { status, code, message, serverId } = reply.error;
  return { kind: 'refused', refusal: { status, code, message, serverId }, link: link.id, sentAt };
}
