import {
  onAbort,
  abortedError,
  type Alarm,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
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
  private resolve: (reply: Reply | Promise<Reply>) => void = ignore;
  private reject: (error: Error) => void = ignore;
  private listening: Disposable | undefined = undefined;

  constructor(readonly request: DriverAcquire) {
    super(request.key);
  }

  /**
   * What it is told when its wait is over. Only who must wait costs a promise.
   * @param onAborted the caller's signal ended a wait that was still local.
   */
  reply(onAborted: (waiter: LocalWaiter) => void): Promise<Reply> {
    const { signal } = this.request;
    if (signal !== undefined) {
      this.listening = onAbort(signal, () => {
        if (this.waiting) onAborted(this);
      });
    }
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  settle(reply: Reply | Promise<Reply>): void {
    this.stopWaiting();
    this.resolve(reply);
  }

  fail(error: unknown): void {
    this.stopWaiting();
    this.reject(error as Error);
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

function ignore(): void {
  // Nobody waits for it.
}
