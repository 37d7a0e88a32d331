import type { LinkState, RedisLink, RedisScript, SubscriptionListener } from '../../redis-client/index.js';

/** One script call that a test answers. */
export interface FakeCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The operations: name, words, line feed, l2. */
  readonly operations: readonly string[];
  /** Answers with one result per operation. */
  answer(results: readonly unknown[], woken?: string): void;
  fail(error: Error): void;
}

const HEADER = 4;

/** A link whose calls a test sees and answers. */
export class FakeLink implements RedisLink {
  readonly library = 'ioredis';
  topology: 'single' | 'cluster' = 'single';
  readonly address = 'fake:6379/0';
  keyPrefix = '';
  seesConnections = true;
  state: LinkState = 'ready';
  trouble: unknown;
  epoch = 0;
  timeUs = 1_800_000_000_000_000n;
  readonly calls: FakeCall[] = [];
  subscriber: SubscriptionListener | undefined;
  readonly waitForReplicas = (): Promise<number> => Promise.resolve(0);
  private readonly listeners = new Set<() => void>();

  nodeOf(): string {
    return 'node';
  }

  onChange(listener: () => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  run(_script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.calls.push({
        keys,
        args,
        operations: args.slice(HEADER),
        answer: (results, woken = '') => resolve([String(this.timeUs), woken, ...results]),
        fail: reject,
      });
    });
  }

  subscribe(_channel: string, listener: SubscriptionListener): Disposable {
    this.subscriber = listener;
    return { [Symbol.dispose]: () => void (this.subscriber = undefined) };
  }

  detach(): void {
    this.listeners.clear();
  }

  /** The connection was lost or made. */
  change(state: LinkState, trouble?: unknown): void {
    this.state = state;
    this.trouble = trouble;
    this.epoch++;
    for (const listener of [...this.listeners]) listener();
  }

  /** The call sent last. */
  get last(): FakeCall {
    return this.calls.at(-1) as FakeCall;
  }
}
