import {
  abortedError,
  askerOf,
  laterOf,
  onAbort,
  type Alarm,
  type Asker,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type Later,
  type Linked,
  type LinkedList,
} from '../../core/index.js';
import { TableEntry } from '../../engine/index.js';

export type Reply = DriverGrant | DriverBusy;

/** One acquire in the local table: waiting for its turn in this process, or the one that speaks with the store for its key. */
export class LocalWaiter extends TableEntry implements Linked<LocalWaiter> {
  list: LinkedList<LocalWaiter> | undefined = undefined;
  before: LocalWaiter | undefined = undefined;
  after: LocalWaiter | undefined = undefined;
  /** Monotonic; Infinity waits until aborted. Of one that waits. */
  waitUntilMs = Infinity;
  alarm: Alarm | undefined = undefined;
  private asker: Asker | undefined = undefined;
  private listening: Disposable | undefined = undefined;

  constructor(readonly request: DriverAcquire) {
    super(request.key);
  }

  /** What its caller gets for now. */
  later(): Promise<Reply> | Later {
    this.asker = askerOf(this.request);
    return laterOf(this.asker);
  }

  /** @param onAborted the caller's signal ended a wait that was still local. */
  watchSignal(onAborted: (waiter: LocalWaiter) => void): void {
    const { signal } = this.request;
    if (signal === undefined) return;
    this.listening = onAbort(signal, () => {
      if (this.waiting) onAborted(this);
    });
  }

  settle(reply: Reply): void {
    this.stopWaiting();
    this.asker?.settle(reply);
  }

  fail(error: unknown): void {
    this.stopWaiting();
    this.asker?.fail(error);
  }

  abort(reason: unknown): void {
    this.fail(abortedError(this.request.key, reason));
  }

  /** Its local wait is over; from now on the store's answer decides. */
  stopWaiting(): void {
    this.alarm?.cancel();
    this.listening?.[Symbol.dispose]();
  }
}
