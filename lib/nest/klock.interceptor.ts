import { Injectable } from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { FENCE_HEADER, fenceHeader, setHeader } from './fence-header.js';
import { openSlot, runWithSlot } from './lock-slot.js';

/**
 * Opens `request.klock` (for RPC `context.klock`), which every decorated method of the request fills when it is granted its
 * lock, and sets the response header `Klock-Fence` then, before the first byte of the body.
 * Register it for the application: `{ provide: APP_INTERCEPTOR, useClass: KlockInterceptor }`.
 */
@Injectable()
export class KlockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response: unknown = context.getType() === 'http' ? context.switchToHttp().getResponse() : undefined;
    const slot = openSlot(context, (granted) => {
      if (response !== undefined) setHeader(response, FENCE_HEADER, fenceHeader(granted));
    });
    // Nest takes the flow of `handle()` along to the handler, so it must be called inside the slot, not only subscribed.
    return new Observable((subscriber) => runWithSlot(slot, () => next.handle().subscribe(subscriber)));
  }
}
