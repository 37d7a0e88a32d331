import type { Clock } from '../core/index.js';
import { hashSlot } from './hash-slot.js';
import { keyPrefixOf, withKeyPrefix } from './key-prefix.js';
import { LinkEvents, type Listened } from './link-events.js';
import { ReconnectingSubscription, type OpenSubscriber } from './reconnecting-subscription.js';
import type { LinkState, RedisLink, SubscriptionListener } from './redis-link.js';
import { runScript, type RedisScript } from './redis-script.js';

interface Options {
  readonly url?: string;
  readonly database?: number;
  readonly socket?: { readonly host?: string; readonly port?: number; readonly path?: string };
}

/** What is used of node-redis. */
interface NodeRedis extends Listened {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  readonly options?: Options;
  /** Since version 6.3; each kind of client has it. */
  readonly _keyPrefix?: string | Uint8Array;
  evalSha(sha1: string, options: ScriptOptions): Promise<unknown>;
  eval(text: string, options: ScriptOptions): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  duplicate?(): NodeRedis;
  destroy?(): unknown;
  disconnect?(): unknown;
}

interface ScriptOptions {
  readonly keys: readonly string[];
  readonly arguments: readonly string[];
}

interface ClusterNode {
  readonly address?: string;
}

interface NodeRedisCluster extends NodeRedis {
  readonly _options?: { readonly rootNodes?: readonly Options[] };
  readonly slots?: readonly ({ readonly master?: ClusterNode } | undefined)[];
  nodeClient(node: ClusterNode): NodeRedis | Promise<NodeRedis>;
}

const CONNECTED_EVENTS = { single: 'ready', sentinel: 'ready', cluster: 'connect' } as const;
const CHANGE_EVENTS = {
  single: ['reconnecting', 'end', 'terminated'],
  sentinel: ['reconnecting', 'end', 'topology-change'],
  cluster: ['disconnect', 'node-ready', 'node-disconnect', 'node-reconnecting'],
} as const;

/** A client of node-redis: `createClient`, `createSentinel` or `createCluster`. */
export class NodeRedisLink implements RedisLink {
  readonly library = 'node-redis';
  readonly address: string;
  readonly keyPrefix: string;
  /** A Sentinel client replaces the connections of its pool without a word. */
  readonly seesConnections: boolean;
  readonly waitForReplicas: RedisLink['waitForReplicas'];
  private readonly client: NodeRedis;
  private readonly events = new LinkEvents();

  constructor(
    client: object,
    readonly topology: 'single' | 'sentinel' | 'cluster',
  ) {
    this.client = client as NodeRedis;
    this.keyPrefix = keyPrefixOf(this.client._keyPrefix);
    this.address = withKeyPrefix(addressOf(this.client, topology), this.keyPrefix);
    this.seesConnections = topology !== 'sentinel';
    this.waitForReplicas = topology === 'sentinel' ? undefined : (key, n, ms) => this.wait(key, n, ms);
    const { events } = this;
    events.listen(this.client, CONNECTED_EVENTS[topology], () => events.connected());
    events.listen(this.client, 'error', (error) => events.failed(error));
    for (const event of CHANGE_EVENTS[topology]) events.listen(this.client, event, () => events.changed());
  }

  get state(): LinkState {
    if (!this.client.isOpen) return 'closed';
    // A Cluster client is open once it knows its slots; each node's connection is a matter of its own.
    return this.topology === 'cluster' || this.client.isReady !== false ? 'ready' : 'connecting';
  }

  get trouble(): unknown {
    return this.events.trouble;
  }

  get epoch(): number {
    return this.events.epoch;
  }

  nodeOf(slot: number): string {
    if (this.topology !== 'cluster') return this.address;
    return (this.client as NodeRedisCluster).slots?.[slot]?.master?.address ?? '';
  }

  onChange(listener: () => void): Disposable {
    return this.events.onChange(listener);
  }

  async run({ text, sha1 }: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const options = { keys, arguments: args };
    return await runScript(
      () => this.client.evalSha(sha1, options),
      () => this.client.eval(text, options),
    );
  }

  subscribe(channel: string, listener: SubscriptionListener, clock: Clock): Disposable {
    const { client } = this;
    const open: OpenSubscriber = (told) =>
      client.duplicate === undefined
        ? share(client, channel, told)
        : follow(client.duplicate(), channel, told);
    return new ReconnectingSubscription(open, listener, clock);
  }

  detach(): void {
    this.events.detach();
  }

  private async wait(key: string, replicas: number, timeoutMs: number): Promise<number> {
    const node = await this.nodeFor(key);
    return node === undefined
      ? 0
      : Number(await node.sendCommand(['WAIT', String(replicas), String(timeoutMs)]));
  }

  private async nodeFor(key: string): Promise<NodeRedis | undefined> {
    if (this.topology !== 'cluster') return this.client;
    const cluster = this.client as NodeRedisCluster;
    const master = cluster.slots?.[hashSlot(this.keyPrefix + key)]?.master;
    return master === undefined ? undefined : await cluster.nodeClient(master);
  }
}

/** A Sentinel client tells nobody where it leads. */
function addressOf(client: NodeRedis, topology: string): string {
  if (topology === 'single') return `${serverOf(client.options)}/${databaseOf(client.options)}`;
  const { rootNodes = [] } = (topology === 'cluster' && (client as NodeRedisCluster)._options) || {};
  return rootNodes.map(serverOf).sort().join(',') || topology;
}

/** Host and port, or the path of a socket; never credentials. */
function serverOf({ socket, url }: Options = {}): string {
  if (socket?.path !== undefined) return socket.path;
  if (socket?.host === undefined && url !== undefined) {
    const { hostname, port } = new URL(url);
    return `${hostname}:${port || 6379}`;
  }
  return `${socket?.host ?? 'localhost'}:${socket?.port ?? 6379}`;
}

function databaseOf({ socket, url, database }: Options = {}): string | number {
  const isByUrl = socket?.path === undefined && socket?.host === undefined && url !== undefined;
  return database ?? ((isByUrl && new URL(url).pathname.slice(1)) || 0);
}

/** A client that keeps a connection for subscriptions by itself, and has no duplicate. */
function share(client: NodeRedis, channel: string, told: Parameters<OpenSubscriber>[0]): { close(): void } {
  const listener = (text: string): void => told.message(String(text));
  // Its subscriptions move to the new primary without a word of their own.
  const events = new LinkEvents();
  events.listen(client, 'topology-change', () => told.up());
  void client.subscribe(channel, listener).then(
    () => told.up(),
    (cause: unknown) => told.ended(cause),
  );
  return {
    close: () => {
      events.detach();
      client.unsubscribe(channel, listener).catch(() => undefined);
    },
  };
}

function follow(client: NodeRedis, channel: string, told: Parameters<OpenSubscriber>[0]): { close(): void } {
  let subscribed = false;
  let closed = false;
  // Without this listener a lost connection would end the process.
  client.on('error', () => undefined);
  // The library subscribes again by itself before it says ready.
  for (const event of ['ready', 'node-ready', 'topology-change']) {
    client.on(event, () => {
      if (subscribed) told.up();
    });
  }
  for (const event of ['reconnecting', 'node-disconnect']) {
    client.on(event, () => told.down(new Error('the connection of the subscriber was lost')));
  }
  client.on('end', () => {
    if (!closed) told.ended(new Error('the subscriber has ended'));
  });
  void subscribe();
  return { close };

  async function subscribe(): Promise<void> {
    try {
      await client.connect();
      await client.subscribe(channel, (text) => told.message(String(text)));
      subscribed = true;
      told.up();
    } catch (cause) {
      told.ended(cause);
    }
  }

  function close(): void {
    if (closed) return;
    closed = true;
    void end();
  }

  async function end(): Promise<void> {
    try {
      await (client.destroy === undefined ? client.disconnect?.() : client.destroy());
    } catch {
      // It was not open: that is what was wanted.
    }
  }
}
