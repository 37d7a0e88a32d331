import {
  LATER,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type Later,
  type Linked,
  type LinkedList,
} from '../../core/index.js';
import type { CallId } from '../../engine/index.js';
import type { LocalSession } from './local-session.js';

type Reply = DriverGrant | DriverBusy;

/** One call that waits for its grant. */
export class LocalWait implements Linked<LocalWait> {
  list: LinkedList<LocalWait> | undefined = undefined;
  before: LocalWait | undefined = undefined;
  after: LocalWait | undefined = undefined;
  /** Ends listening to the caller's signal. */
  listening: Disposable | undefined = undefined;
  /** Of a caller that takes no answer itself. */
  private promised: { resolve(reply: Reply): void; reject(error: unknown): void } | undefined = undefined;

  constructor(
    readonly session: LocalSession,
    readonly callId: CallId,
    readonly request: DriverAcquire,
  ) {}

  /** What `acquire` answers meanwhile. */
  get later(): Promise<Reply> | Later {
    if (this.request.settle !== undefined) return LATER;
    return new Promise((resolve, reject) => (this.promised = { resolve, reject }));
  }

  settle(reply: Reply): void {
    if (this.promised === undefined) this.request.settle?.(reply);
    else this.promised.resolve(reply);
  }

  fail(error: unknown): void {
    if (this.promised === undefined) this.request.fail?.(error);
    else this.promised.reject(error);
  }
}
