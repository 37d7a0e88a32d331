import type { Clock } from '../core/index.js';
import type { RedisScript } from './redis-script.js';

/** Whether commands can be sent: now, once the client has connected, or never again. */
export type LinkState = 'ready' | 'connecting' | 'closed';

/** What happens on a subscription. */
export interface SubscriptionListener {
  /** Messages arrive from now on; called again after each interruption, in which messages were lost. */
  up(): void;
  down(cause: unknown): void;
  message(text: string): void;
}

/** A user's client, of whatever library and topology, as klock sees it. */
export interface RedisLink {
  readonly library: 'ioredis' | 'node-redis';
  readonly topology: 'single' | 'sentinel' | 'cluster';
  /** Where it leads, such as `127.0.0.1:6379/0`, for a Cluster its start nodes; and the client's own prefix, if any. */
  readonly address: string;
  /** What the client itself puts before every key, which then decides its slot. */
  readonly keyPrefix: string;
  /** False if connections can be replaced without this link noticing: then nothing may be concluded from {@link epoch}. */
  readonly seesConnections: boolean;
  readonly state: LinkState;
  /** What the client last said is wrong, until it is connected again. */
  readonly trouble: unknown;
  /** Grows whenever a connection was lost or made. */
  readonly epoch: number;
  /** Names the server that a slot's commands go to; `''` where it is not known. Single node: always the same. */
  nodeOf(slot: number): string;
  /** Calls the listener after each change of {@link state}, {@link trouble} or {@link epoch}. */
  onChange(listener: () => void): Disposable;
  /** Runs a script by its SHA-1; where the server does not know it, once more by its text. Keys of one slot only. */
  run(script: RedisScript, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /**
   * Waits until replicas have what was written over the connection of `key`'s slot; resolves with how many have.
   * Undefined where the library does not say which connection that is.
   */
  readonly waitForReplicas:
    ((key: string, replicas: number, timeoutMs: number) => Promise<number>) | undefined;
  /** Opens a connection of its own for one channel. It is kept up until closed; nothing is thrown. */
  subscribe(channel: string, listener: SubscriptionListener, clock: Clock): Disposable;
  /** Lets go of the client: removes its listeners from it. The client itself is left as it is. */
  detach(): void;
}
