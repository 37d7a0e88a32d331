/** Where the run's own servers listen. One that is missing was not started, for the reason given. */
export interface Addresses {
  /** Lock server hosted by Nest: `127.0.0.1:port`. */
  readonly klock?: string;
  /** The same without the channel, as a server of the original knows only the six RPCs. */
  readonly sixRpc?: string;
  /** Bare gRPC calls and streams. */
  readonly echo?: string;
  /** Redis without persistence. */
  readonly redis?: string;
  readonly etcd?: string;
}

/** One client of a contender, as a program that locks would hold it. */
export interface LockClient {
  /**
   * Takes the key, waiting for it, runs `held` while holding it, and gives it back.
   * @param signal ends the wait; only klock's own contenders look at it.
   */
  section(key: Key, held: Held, signal?: AbortSignal): Promise<unknown>;
  /** Takes the key and keeps it for as long as what this resolves with is referenced and the process lives. */
  take?(key: Key): Promise<{ release(): Promise<unknown> }>;
  close(): Promise<unknown>;
}

export type Key = readonly [string] | readonly [string, string];
/** What is done while holding: nothing, and at once. Told the fence, where the contender has one: holds with a fence are checked. */
export type Held = (fence?: bigint) => void;

export type Family = 'klock' | 'bare' | 'redis-library' | 'etcd-library';

export interface Contender {
  readonly title: string;
  readonly family: Family;
  /** What it needs started. */
  readonly needs: keyof Addresses;
  open(addresses: Addresses): Promise<LockClient>;
}

/** What a decorated method of a contender returns: it has nothing to wait for. */
export const DONE = Promise.resolve();

/** Every wait of a benchmark is bounded: a contender that starves its callers is told so by its errors. */
export const WAIT_MS = 60_000;

/** Long enough that no lock of a benchmark runs out. */
export const LEASE_MS = 10_000;

/** @throws Error where it was not started. */
export function addressOf(addresses: Addresses, name: keyof Addresses): string {
  const address = addresses[name];
  if (address === undefined) throw new Error(`${name} was not started`);
  return address;
}
