import { SlotMap, type DriverHost } from '../../core/index.js';
import type { RedisLink } from '../../redis-client/index.js';

/** Messages remembered for those who have not read yet that they stand in line. */
const MAX_EARLY = 1_000;

/** Someone waiting for a message. */
export interface Sleeper {
  /** May be called any number of times. */
  wake(): void;
}

/**
 * Waiting acquires of this client by request id, and the one connection that wakes them. Messages are hints: whoever is
 * woken asks, and who gets none asks by itself a little later.
 */
export class WaitingRoom {
  private readonly sleepers = new SlotMap<Sleeper>();
  /** Woken before they entered: messages and answers come over different connections. */
  private readonly early = new Set<string>();
  private subscription: Disposable | undefined = undefined;
  private closed = false;
  private told = false;

  constructor(
    private readonly link: RedisLink,
    private readonly host: DriverHost,
    readonly channel: string,
  ) {}

  /** Whether messages arrive: a waiter that was queued before they did must ask once more. */
  isListening = false;

  /** Wakes it in this call if a message for it has come already. */
  enter(id: string, sleeper: Sleeper): void {
    this.sleepers.set(id, sleeper);
    if (this.early.delete(id)) sleeper.wake();
    if (this.closed || this.subscription !== undefined) return;
    this.subscription = this.link.subscribe(
      this.channel,
      {
        up: () => this.up(),
        down: (cause) => this.down(cause),
        message: (ids) => this.wake(ids),
      },
      this.host.clock,
    );
  }

  leave(id: string): void {
    this.sleepers.delete(id);
  }

  /** Wakes waiters by their ids, joined by commas; an id of nobody may be that of one whose answer is still to be read. */
  wake(ids: string): void {
    for (const id of ids.split(',')) {
      const sleeper = this.sleepers.get(id);
      if (sleeper === undefined) this.remember(id);
      else sleeper.wake();
    }
  }

  close(): void {
    this.closed = true;
    this.early.clear();
    this.subscription?.[Symbol.dispose]();
    this.subscription = undefined;
  }

  private remember(id: string): void {
    this.early.add(id);
    if (this.early.size <= MAX_EARLY) return;
    const [oldest] = this.early;
    if (oldest !== undefined) this.early.delete(oldest);
  }

  private up(): void {
    this.isListening = true;
    this.told = false;
    // What was published before reached nobody (case B-049).
    for (const sleeper of [...this.sleepers.values()]) sleeper.wake();
  }

  private down(cause: unknown): void {
    this.isListening = false;
    if (this.told) return;
    this.told = true;
    this.host.warn(
      'REDIS_SUBSCRIPTION_LOST',
      'the connection that wakes waiting acquires is down; they ask by themselves until it is back',
      cause,
    );
  }
}
