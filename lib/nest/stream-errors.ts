import { Logger, type ExecutionContext } from '@nestjs/common';
import { catchError, map, throwError, type Observable } from 'rxjs';
import { isLockError, type LockError } from '../core/index.js';
import { INTERNAL_ERROR, statusOfError } from './error-status.js';
import { graphqlError } from './graphql-error.js';
import { isHeadSent, type HttpResponse } from './http-response.js';
import { sourceOf } from './iteration-source.js';
import { isAsyncIterable } from './method-shape.js';

/** What Nest writes on handlers of server-sent events, and on resolvers. */
const SSE = '__sse__';
const RESOLVER_TYPE = 'graphql:resolver_type';

type Metadata = typeof Reflect & { getMetadata?(key: string, target: object): unknown };
type Told = (error: LockError) => Error;

const logger = new Logger('Klock');

/**
 * The answer of a handler with its lock errors fit to be shown. Nest asks no filter about the error of a stream that has
 * begun: it writes the error's own message into it, key, holder and all.
 */
export function withPublicErrors(
  context: ExecutionContext,
  answer: Observable<unknown>,
): Observable<unknown> {
  const handler = context.getHandler();
  if (metadataOf(SSE, handler) === true) return ofEvents(context.switchToHttp().getResponse(), answer);
  if (metadataOf(RESOLVER_TYPE, handler) !== 'Subscription') return answer;
  return answer.pipe(map((value) => (isAsyncIterable(value) ? ofSubscription(value) : value)));
}

function metadataOf(key: string, handler: object): unknown {
  return (Reflect as Metadata).getMetadata?.(key, handler);
}

function ofEvents(response: HttpResponse, events: Observable<unknown>): Observable<unknown> {
  const tell: Told = (error) => new Error(statusOfError(error).message);
  // Before that the filter answers, with a status.
  const toTell = (error: unknown): unknown => (isHeadSent(response) ? told(error, tell) : error);
  return events.pipe(catchError((error: unknown) => throwError(() => toTell(error))));
}

function ofSubscription(events: AsyncIterable<unknown>): AsyncIterableIterator<unknown> {
  const source = sourceOf(events);
  const tell: Told = (error) => graphqlError(statusOfError(error), error);
  const step = async <T>(taking: Promise<T>): Promise<T> => {
    try {
      return await taking;
    } catch (error) {
      throw told(error, tell);
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

function told(error: unknown, tell: Told): unknown {
  if (!isLockError(error)) return error;
  if ((statusOfError(error).http ?? INTERNAL_ERROR) === INTERNAL_ERROR)
    logger.error(error.message, error.stack);
  return tell(error);
}
