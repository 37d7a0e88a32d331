import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import { type Clock, maskId } from '../core/index.js';
import { type ErrorStatus } from '../rpc/index.js';
import type { OpenCall, OpenCalls } from './open-call.js';
import type { ServerCounters } from './server-counters.js';
import { causeText, type LogLevel, type ServerLog } from './server-log.js';
import type { WireErrors } from './wire-errors.js';

/** Any answer: its error part alone says whether it is a success. */
export interface WireAnswer {
  readonly error?: ErrorStatus;
}

/** Answers a request; later calls of `respond` after the first do nothing. */
export type UnaryHandler<Request, Answer> = (
  request: Request,
  respond: (answer: Answer) => void,
  call: OpenCall,
) => void;

export interface UnaryParts {
  readonly calls: OpenCalls;
  readonly counters: ServerCounters;
  readonly log: ServerLog;
  readonly clock: Clock;
  readonly errors: WireErrors;
}

/** Turns a handler into what grpc-js calls: counted, logged, and with an answer whatever it throws. */
export function unaryCall<Request, Answer extends WireAnswer>(
  parts: UnaryParts,
  fail: (error: ErrorStatus) => Answer,
  handle: UnaryHandler<Request, Answer>,
): (call: ServerUnaryCall<Request, Answer>, callback: sendUnaryData<Answer>) => void {
  return (call, callback) => {
    const open = parts.calls.get(call.metadata);
    // Every call passes the gate; one that did not has nobody to answer for it.
    if (open === undefined) return callback({ code: 13, details: 'internal error' });
    parts.counters.add('unary_calls');
    let answered = false;
    const respond = (answer: Answer): void => {
      if (answered) return;
      answered = true;
      report(parts, open, answer, (call.request as { readonly sessionId?: string }).sessionId);
      if (!open.closed) callback(null, answer);
    };
    open.onClose(() => {
      if (answered) return;
      answered = true;
      report(parts, open, undefined, undefined);
    });
    try {
      handle(call.request, respond, open);
    } catch (cause) {
      parts.log.write('error', 'internal_error', { method: open.method, cause: causeText(cause) });
      respond(fail(parts.errors.of('INTERNAL', 'internal error')));
    }
  };
}

/** One record a call: refusals for everybody to see, successes only for those who look closely. */
function report(
  parts: UnaryParts,
  call: OpenCall,
  answer: WireAnswer | undefined,
  sessionId: string | undefined,
): void {
  const code = answer === undefined ? 'TRANSPORT_ERROR' : (answer.error?.code ?? 'OK');
  if (code !== 'OK') parts.counters.add('unary_failures');
  const level: LogLevel = code === 'OK' ? 'debug' : code === 'INTERNAL' ? 'error' : 'info';
  if (!parts.log.enabled(level)) return;
  parts.log.write(level, 'grpc_unary_call', {
    method: call.method,
    code,
    outcome: code === 'OK' ? 'ok' : answer === undefined ? 'ended' : 'refused',
    duration_ms: Math.round(parts.clock.monoMs() - call.startedMs),
    peer: call.peer,
    session: sessionId === undefined || sessionId === '' ? undefined : maskId(sessionId),
  });
}
