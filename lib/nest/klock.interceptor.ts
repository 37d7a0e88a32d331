import { Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import type { LockError } from '../core/index.js';
import { connectionAmong } from './client-connection.js';
import { statusOfError, type ErrorStatus } from './error-status.js';
import { FENCE_HEADER, fenceHeader } from './fence-header.js';
import { setHeader, type HttpResponse } from './http-response.js';
import { openSlot, runWithSlot } from './lock-slot.js';
import { withPublicErrors } from './stream-errors.js';

/**
 * Opens `request.klock` (for RPC `context.klock`), which every decorated method of the request fills when it is granted its
 * lock, and sets the response header `Klock-Fence` then, before the first byte of the body. Keeps what lock errors say out of
 * server-sent events and GraphQL subscriptions, which no filter is asked about once they have begun.
 * Register it for the application: `{ provide: APP_INTERCEPTOR, useClass: KlockInterceptor }`.
 */
@Injectable()
export class KlockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const slot = openSlot(context);
    slot.listen((granted) => {
      // Not on this interceptor's way back: the handler may have written its first bytes by then.
      if (context.getType() !== 'http') return;
      setHeader(context.switchToHttp().getResponse<HttpResponse>(), FENCE_HEADER, fenceHeader(granted));
    });
    slot.connection ??= connectionAmong(context.getArgs());
    // Nest takes the flow of `handle()` along to the handler, so it must be called inside the slot, not only subscribed.
    const answer = new Observable((subscriber) =>
      runWithSlot(slot, () => next.handle().subscribe(subscriber)),
    );
    return withPublicErrors(context, answer, (error) => this.statusOf(error));
  }

  /** What is said of an error in a stream that has begun; override it with that of `KlockExceptionFilter`. */
  protected statusOf(error: LockError): ErrorStatus {
    return statusOfError(error);
  }
}
