import type { LockError } from '../../core/index.js';
import type { Sending } from './operations.js';

/** How an operation ended. */
export type Answer<R> =
  | { readonly type: 'answered'; readonly value: R; readonly sending: Sending }
  /** Redis said no to it: nothing was done. `passing`: the same may be allowed a moment later. */
  | { readonly type: 'refused'; readonly error: LockError; readonly passing: boolean }
  /** It never left: nothing was done. */
  | { readonly type: 'unsent'; readonly cause: unknown }
  /** It was sent and not answered in time: nobody knows whether it was done. */
  | { readonly type: 'unanswered'; readonly cause: unknown; readonly sending: Sending };

/** Nothing was done, or nobody knows. */
export type Failure = Exclude<Answer<never>, { type: 'answered' }>;
