import type { LinkState, RedisLink, RedisScript, SubscriptionListener } from '../../redis-client/index.js';

/** One script call that a test answers. */
export interface FakeCall {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The operations: name and words, who, meta and l2, a line each. */
  readonly operations: readonly string[];
  /** The trees of the operations. */
  readonly trees: readonly string[];
  /** Answers with one result per operation. */
  answer(results: readonly unknown[], woken?: string): void;
  fail(error: Error): void;
}

function unpackedOperations(packed: string): { operations: string[]; trees: string[] } {
  const [operations, trees]: [string[], string[]] = [[], []];
  for (let rest = Buffer.from(packed); rest.length > 0;) {
    const stop = rest.indexOf('\n');
    const [name, ...words] = rest.subarray(0, stop).toString().split(' ');
    rest = rest.subarray(stop + 1);
    const [tree, l2, who, meta] = words.splice(0, 4).map((bytes) => {
      const part = rest.subarray(0, Number(bytes)).toString();
      rest = rest.subarray(Number(bytes));
      return part;
    });
    operations.push(`${[name, ...words].join(' ')}\n${who}\n${meta}\n${l2}`);
    trees.push(tree as string);
  }
  return { operations, trees };
}

/** As the script answers: what can be a line is one. */
function packedReply(head: readonly string[], results: readonly unknown[]): unknown[] {
  const isLine = (result: unknown): result is string => typeof result === 'string';
  return [
    [...head, ...results.map((result) => (isLine(result) ? result : ''))].join('\n'),
    ...results.filter((result) => !isLine(result)),
  ];
}

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
  subscriber: SubscriptionListener | undefined = undefined;
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
        ...unpackedOperations(args.at(-1) as string),
        answer: (results, woken = '') => resolve(packedReply([String(this.timeUs), woken], results)),
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
