import {
  LATER,
  onAbort,
  abortedError,
  type Alarm,
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
  private resolve: ((reply: Reply) => void) | undefined = undefined;
  private reject: ((error: unknown) => void) | undefined = undefined;
  private listening: Disposable | undefined = undefined;

  constructor(readonly request: DriverAcquire) {
    super(request.key);
  }

  /** What its caller gets for now: it is told itself where it can be, else by a promise. */
  later(): Promise<Reply> | Later {
    if (this.request.settle !== undefined) return LATER;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
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
    if (this.resolve !== undefined) this.resolve(reply);
    else this.request.settle?.(reply);
  }

  fail(error: unknown): void {
    this.stopWaiting();
    if (this.reject !== undefined) this.reject(error);
    else this.request.fail?.(error);
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
