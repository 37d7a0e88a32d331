import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Observable } from 'rxjs';
import { fenceRuleOf, runUnderRule } from './fence-rule.js';
import { slotOf } from './lock-slot.js';

/** Tells the handler that its fence was accepted: without it the handler refuses to run. Comes with `@Fenced`. */
@Injectable()
export class FenceInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rule = fenceRuleOf(context.getHandler());
    if (rule === undefined || slotOf(context)?.acceptedBy !== rule) return next.handle();
    // Nest takes the flow of `handle()` along to the handler, so it must be called inside, not only subscribed.
    return new Observable((subscriber) => runUnderRule(rule, () => next.handle().subscribe(subscriber)));
  }
}
