import type { Clock } from '../core/index.js';
import { hashSlot } from './hash-slot.js';
import { keyPrefixOf, withKeyPrefix } from './key-prefix.js';
import { LinkEvents, type Listened } from './link-events.js';
import { ReconnectingSubscription, type OpenSubscriber } from './reconnecting-subscription.js';
import type { LinkState, RedisLink, SubscriptionListener } from './redis-link.js';
import { runScript, type RedisScript } from './redis-script.js';

interface Options {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly db?: number;
  readonly name?: string;
  readonly sentinels?: readonly unknown[] | null;
  readonly keyPrefix?: string | Uint8Array;
}

/** What is used of ioredis. */
interface Ioredis extends Listened {
  readonly status: string;
  readonly options?: Options;
  evalsha(sha1: string, numberOfKeys: number, ...args: readonly string[]): Promise<unknown>;
  eval(text: string, numberOfKeys: number, ...args: readonly string[]): Promise<unknown>;
  call(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  connect(): Promise<unknown>;
  disconnect(): void;
  duplicate(override: object): Ioredis;
}

interface IoredisCluster extends Omit<Ioredis, 'duplicate'> {
  readonly slots?: readonly (readonly string[])[];
  readonly startupNodes?: readonly unknown[];
  nodes(role?: 'master' | 'all'): readonly Ioredis[];
  duplicate(startNodes: readonly unknown[], override: object): Ioredis;
}

/** Pauses between attempts of a subscriber, whatever the user's own client does: it must come back by itself. */
const reconnectPause = (attempt: number): number => Math.min(2_000, 50 * 2 ** Math.min(attempt, 6));

/** A `Redis` of ioredis, with or without Sentinel. */
export class IoredisLink implements RedisLink {
  readonly library = 'ioredis';
  readonly topology: 'single' | 'sentinel';
  readonly seesConnections = true;
  readonly address: string;
  readonly keyPrefix: string;
  private readonly client: Ioredis;
  private readonly events = new LinkEvents();

  constructor(client: object) {
    this.client = client as Ioredis;
    const options = this.client.options ?? {};
    this.topology = options.sentinels == null ? 'single' : 'sentinel';
    this.keyPrefix = keyPrefixOf(options.keyPrefix);
    this.address = withKeyPrefix(addressOf(options), this.keyPrefix);
    listenTo(this.events, this.client);
  }

  get state(): LinkState {
    return stateOf(this.client);
  }

  get trouble(): unknown {
    return this.events.trouble;
  }

  get epoch(): number {
    return this.events.epoch;
  }

  nodeOf(): string {
    return this.address;
  }

  onChange(listener: () => void): Disposable {
    return this.events.onChange(listener);
  }

  run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return runOn(this.client, script, keys, args);
  }

  readonly waitForReplicas = async (_key: string, replicas: number, timeoutMs: number): Promise<number> =>
    Number(await this.client.call('WAIT', replicas, timeoutMs));

  subscribe(channel: string, listener: SubscriptionListener, clock: Clock): Disposable {
    const open: OpenSubscriber = (told) => {
      const subscriber = this.client.duplicate({
        lazyConnect: true,
        autoResubscribe: false,
        enableOfflineQueue: true,
        maxRetriesPerRequest: null,
        retryStrategy: reconnectPause,
      });
      return follow(subscriber, channel, told);
    };
    return new ReconnectingSubscription(open, listener, clock);
  }

  detach(): void {
    this.events.detach();
  }
}

/** A `Cluster` of ioredis. */
export class IoredisClusterLink implements RedisLink {
  readonly library = 'ioredis';
  readonly topology = 'cluster';
  readonly seesConnections = true;
  readonly address: string;
  readonly keyPrefix: string;
  private readonly client: IoredisCluster;
  private readonly events = new LinkEvents();

  constructor(client: object) {
    this.client = client as IoredisCluster;
    const nodes = (this.client.startupNodes ?? []).map(nodeAddress).sort().join(',');
    this.keyPrefix = keyPrefixOf(this.client.options?.keyPrefix);
    this.address = withKeyPrefix(nodes || 'cluster', this.keyPrefix);
    listenTo(this.events, this.client);
    this.events.listen(this.client, '-node', () => this.events.changed());
    this.events.listen(this.client, '+node', (node) => this.watch(node as Ioredis));
    for (const node of this.client.nodes('all')) this.watch(node);
  }

  get state(): LinkState {
    return stateOf(this.client);
  }

  get trouble(): unknown {
    return this.events.trouble;
  }

  get epoch(): number {
    return this.events.epoch;
  }

  nodeOf(slot: number): string {
    return this.client.slots?.[slot]?.[0] ?? '';
  }

  onChange(listener: () => void): Disposable {
    return this.events.onChange(listener);
  }

  run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return runOn(this.client, script, keys, args);
  }

  readonly waitForReplicas = async (key: string, replicas: number, timeoutMs: number): Promise<number> => {
    const name = this.nodeOf(hashSlot(this.keyPrefix + key));
    const node = this.client.nodes('master').find((each) => addressOf(each.options ?? {}, false) === name);
    return node === undefined ? 0 : Number(await node.call('WAIT', replicas, timeoutMs));
  };

  subscribe(channel: string, listener: SubscriptionListener, clock: Clock): Disposable {
    const open: OpenSubscriber = (told) => {
      const subscriber = this.client.duplicate([], {
        lazyConnect: true,
        clusterRetryStrategy: reconnectPause,
      });
      // The node behind a Cluster's subscription may be replaced; what was published meanwhile is lost.
      subscriber.on('+subscriber', () => told.up());
      return follow(subscriber, channel, told);
    };
    return new ReconnectingSubscription(open, listener, clock);
  }

  detach(): void {
    this.events.detach();
  }

  private watch(node: Ioredis): void {
    this.events.listen(node, 'close', () => this.events.changed());
    this.events.listen(node, 'ready', () => this.events.changed());
  }
}

function listenTo(events: LinkEvents, client: Listened): void {
  events.listen(client, 'ready', () => events.connected());
  events.listen(client, 'error', (error) => events.failed(error));
  for (const event of ['close', 'end']) events.listen(client, event, () => events.changed());
}

function stateOf({ status }: { readonly status: string }): LinkState {
  // A lazy client connects when it is first asked for something.
  if (status === 'ready' || status === 'wait') return 'ready';
  return status === 'end' ? 'closed' : 'connecting';
}

async function runOn(
  client: Pick<Ioredis, 'eval' | 'evalsha'>,
  { text, sha1 }: RedisScript,
  keys: readonly string[],
  args: readonly string[],
): Promise<unknown> {
  return await runScript(
    () => client.evalsha(sha1, keys.length, ...keys, ...args),
    () => client.eval(text, keys.length, ...keys, ...args),
  );
}

function addressOf({ host, port, path, db, name, sentinels }: Options, withDb = true): string {
  const suffix = withDb ? `/${db ?? 0}` : '';
  if (sentinels != null) return `sentinel:${name ?? 'mymaster'}${suffix}`;
  return path === undefined || path === null
    ? `${host ?? 'localhost'}:${port ?? 6379}${suffix}`
    : `${path}${suffix}`;
}

function nodeAddress(node: unknown): string {
  if (typeof node === 'object' && node !== null) return addressOf(node, false);
  return String(node);
}

function follow(client: Ioredis, channel: string, told: Parameters<OpenSubscriber>[0]): { close(): void } {
  let closed = false;
  // Without this listener a lost connection would end the process.
  client.on('error', () => undefined);
  client.on('ready', () => {
    client.subscribe(channel).then(
      () => told.up(),
      (cause: unknown) => told.down(cause),
    );
  });
  client.on('message', (from, text) => {
    if (String(from) === channel) told.message(String(text));
  });
  client.on('close', () => told.down(new Error('the connection of the subscriber was closed')));
  client.on('end', () => told.ended(new Error('the subscriber has ended')));
  client.connect().catch(() => undefined);
  return {
    close: () => {
      if (closed) return;
      closed = true;
      client.disconnect();
    },
  };
}
