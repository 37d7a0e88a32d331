import type { Clock, Timer } from '../core/index.js';
import type { SubscriptionListener } from './redis-link.js';

/** First pause before a subscriber that ended for good is made anew; doubled each time. */
const FIRST_PAUSE_MS = 100;
/** Longest pause: the slow check behind a subscription bridges it. */
const LONGEST_PAUSE_MS = 5_000;

/** One connection made for one channel. */
export interface Subscriber {
  /** Ends it. Never throws. */
  close(): void;
}

/** Makes a connection and tells of it; `ended` only when it will not come back by itself. */
export type OpenSubscriber = (listener: SubscriptionListener & { ended(cause: unknown): void }) => Subscriber;

/** Keeps a subscription up: clients reconnect by themselves, and where one gives up another is made. */
export class ReconnectingSubscription implements Disposable {
  private subscriber: Subscriber | undefined = undefined;
  private pause: Timer | undefined = undefined;
  private failures = 0;
  private closed = false;

  constructor(
    private readonly open: OpenSubscriber,
    private readonly listener: SubscriptionListener,
    private readonly clock: Clock,
  ) {
    this.start();
  }

  [Symbol.dispose](): void {
    this.closed = true;
    this.pause?.cancel();
    this.drop();
  }

  private start(): void {
    let over = false;
    const mine = (run: () => void): void => {
      if (!this.closed && !over) run();
    };
    const ended = (cause: unknown): void =>
      mine(() => {
        over = true;
        this.again(cause);
      });
    try {
      this.subscriber = this.open({
        up: () =>
          mine(() => {
            this.failures = 0;
            this.listener.up();
          }),
        down: (cause) => mine(() => this.listener.down(cause)),
        message: (text) => mine(() => this.listener.message(text)),
        ended,
      });
    } catch (cause) {
      ended(cause);
    }
  }

  private again(cause: unknown): void {
    this.drop();
    this.listener.down(cause);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.failures++);
    this.pause?.cancel();
    this.pause = this.clock.after(pauseMs, () => {
      if (!this.closed) this.start();
    });
  }

  private drop(): void {
    this.subscriber?.close();
    this.subscriber = undefined;
  }
}
