import {
  onAbort,
  abortedError,
  type Alarm,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
} from '../../core/index.js';
import { TableEntry } from '../../engine/index.js';

type Reply = DriverGrant | DriverBusy;

/** One acquire in the local table: waiting for its turn in this process, or the one that speaks with the store for its key. */
export class LocalWaiter extends TableEntry {
  readonly reply: Promise<Reply>;
  alarm: Alarm | undefined;
  private resolve: (reply: Reply) => void = () => undefined;
  private reject: (error: Error) => void = () => undefined;
  private readonly listening: Disposable | undefined;

  /** @param onAborted the caller's signal ended a wait that was still local. */
  constructor(
    readonly request: DriverAcquire,
    /** Monotonic; Infinity waits until aborted. */
    readonly waitUntilMs: number,
    onAborted: (waiter: LocalWaiter) => void,
  ) {
    super(request.key);
    this.reply = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const { signal } = request;
    if (signal === undefined) return;
    this.listening = onAbort(signal, () => {
      if (this.waiting) onAborted(this);
    });
  }

  settle(reply: Reply): void {
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
