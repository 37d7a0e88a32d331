import { Logger, type ExecutionContext } from '@nestjs/common';
import { catchError, map, throwError, type Observable } from 'rxjs';
import { isLockError, type LockError } from '../core/index.js';
import { INTERNAL_ERROR, type ErrorStatus } from './error-status.js';
import { graphqlError } from './graphql-error.js';
import { isHeadSent, type HttpResponse } from './http-response.js';
import { sourceOf } from './iteration-source.js';
import { isAsyncIterable } from './method-shape.js';

/** What Nest writes on handlers of server-sent events, and on resolvers. */
const SSE = '__sse__';
const RESOLVER_TYPE = 'graphql:resolver_type';

type Metadata = typeof Reflect & { getMetadata?(key: string, target: object): unknown };
type StatusOf = (error: LockError) => ErrorStatus;
type Tell = (status: ErrorStatus, error: LockError) => Error;

const logger = new Logger('Klock');

/**
 * The answer of a handler with its lock errors fit to be shown. Nest asks no filter about the error of a stream that has
 * begun: it writes the error's own message into it, key, holder and all.
 */
export function withPublicErrors(
  context: ExecutionContext,
  answer: Observable<unknown>,
  statusOf: StatusOf,
): Observable<unknown> {
  const handler = context.getHandler();
  if (metadataOf(SSE, handler) === true)
    return ofEvents(context.switchToHttp().getResponse(), answer, statusOf);
  if (metadataOf(RESOLVER_TYPE, handler) !== 'Subscription') return answer;
  return answer.pipe(map((value) => (isAsyncIterable(value) ? ofSubscription(value, statusOf) : value)));
}

function metadataOf(key: string, handler: object): unknown {
  return (Reflect as Metadata).getMetadata?.(key, handler);
}

function ofEvents(
  response: HttpResponse,
  events: Observable<unknown>,
  statusOf: StatusOf,
): Observable<unknown> {
  const tell: Tell = ({ message }) => new Error(message);
  // Before that the filter answers, with a status.
  const toTell = (error: unknown): unknown => (isHeadSent(response) ? told(error, statusOf, tell) : error);
  return events.pipe(catchError((error: unknown) => throwError(() => toTell(error))));
}

function ofSubscription(events: AsyncIterable<unknown>, statusOf: StatusOf): AsyncIterableIterator<unknown> {
  const source = sourceOf(events);
  const step = async <T>(taking: Promise<T>): Promise<T> => {
    try {
      return await taking;
    } catch (error) {
      throw told(error, statusOf, graphqlError);
    }
  };
  return {
    next: (...values: unknown[]) => step(source.next(values[0])),
    return: (value) => step(source.return(value)),
    throw: (error) => step(source.throw(error)),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function told(error: unknown, statusOf: StatusOf, tell: Tell): unknown {
  if (!isLockError(error)) return error;
  const status = statusOf(error);
  if ((status.http ?? INTERNAL_ERROR) === INTERNAL_ERROR) logger.error(error.message, error.stack);
  return tell(status, error);
}
