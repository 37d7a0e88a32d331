import { Catch, Logger, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { throwError } from 'rxjs';
import { isLockError, type LockError } from '../core/index.js';
import { INTERNAL_ERROR, statusOfError, type ErrorStatus } from './error-status.js';
import { graphqlError } from './graphql-error.js';
import { answer, setHeader, type HttpResponse } from './http-response.js';

/** Matches lock errors of this and any other copy of the package: Nest asks `exception instanceof` what is given to `@Catch`. */
class AnyLockError {
  static [Symbol.hasInstance](error: unknown): boolean {
    return isLockError(error);
  }
}

interface SocketClient {
  readonly readyState?: unknown;
  send?(data: string): unknown;
  emit?(event: string, data: unknown): unknown;
}

/**
 * Answers lock errors with the status that fits: HTTP 423 with `Retry-After` for a busy key, 409 for a lost lock, 503 for
 * a store that is down, 400 where a key could not be made from the request; gRPC codes, WebSocket exceptions and GraphQL
 * errors likewise. Keys, holders and messages of the error are not shown to the client. Every other exception is left alone.
 * Register it for the application: `{ provide: APP_FILTER, useClass: KlockExceptionFilter }`; to change an answer,
 * extend it and override {@link statusOf}.
 */
@Catch(AnyLockError)
export class KlockExceptionFilter implements ExceptionFilter<LockError> {
  private readonly logger = new Logger('Klock');

  catch(error: LockError, host: ArgumentsHost): unknown {
    const status = this.statusOf(error);
    if ((status.http ?? INTERNAL_ERROR) === INTERNAL_ERROR) this.logger.error(error.message, error.stack);
    switch (host.getType<string>()) {
      case 'http':
        return answerHttp(host.switchToHttp().getResponse(), status, error);
      case 'ws':
        return answerSocket(host.switchToWs().getClient(), status, error);
      case 'graphql':
        throw graphqlError(status, error);
      case 'rpc':
        // A number as code is what the gRPC transport sends as its status; other transports send the object.
        return throwError(() => ({
          code: status.grpc,
          message: status.message,
          status: 'error',
          error: error.code,
        }));
      default:
        // A context of some other library, which knows best what to make of an error.
        throw error;
    }
  }

  /** The answer to one error. */
  protected statusOf(error: LockError): ErrorStatus {
    return statusOfError(error);
  }
}

function answerHttp(response: HttpResponse, status: ErrorStatus, error: LockError): void {
  const statusCode = status.http ?? INTERNAL_ERROR;
  if (status.retryAfterS !== undefined) setHeader(response, 'Retry-After', String(status.retryAfterS));
  const message = status.http === undefined ? 'Internal server error' : status.message;
  answer(response, statusCode, {
    statusCode,
    message,
    code: statusCode === INTERNAL_ERROR ? undefined : error.code,
  });
}

function answerSocket(client: SocketClient, status: ErrorStatus, error: LockError): void {
  const data = { status: 'error', message: status.message, code: error.code };
  // Both kinds have emit; a native socket would only tell itself.
  if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data }));
  else client.emit?.('exception', data);
}
