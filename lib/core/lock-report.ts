import type { LockKey } from './lock-key.js';

/** One holder as `inspect` shows it. */
export interface HolderReport {
  readonly key: LockKey;
  readonly fence: bigint;
  /** First characters of the session id: enough to tell two apart, not enough to use it. */
  readonly session: string;
  /** The `clientName` its owner gave, a label only. */
  readonly client?: string;
  /** Where it runs, as far as the store knows: `host:pid` as its client says, or the address it called from. */
  readonly host?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Milliseconds since the grant, by the store's clock. */
  readonly heldMs: number;
  /** Milliseconds until the store may end the lease by itself. */
  readonly leaseLeftMs: number;
}

/** One waiter as `inspect` shows it, in queue order. */
export interface WaiterReport {
  readonly key: LockKey;
  readonly session: string;
  readonly client?: string;
  readonly waitedMs: number;
}

/** Who holds a key or something that conflicts with it, and who waits. A snapshot: true when it was taken, perhaps not when it is read. */
export interface LockReport {
  readonly key: LockKey;
  readonly locked: boolean;
  readonly holders: readonly HolderReport[];
  /** The first waiters, at most 100. */
  readonly waiters: readonly WaiterReport[];
  /** All of them. */
  readonly waiterCount: number;
}

/** Holders of any key, the longest held first. */
export interface HolderPage {
  readonly holders: readonly ListedHolder[];
  /** There are more: ask again with the last fence of this page as `afterFence`. */
  readonly more: boolean;
}

/** One holder of a listing. */
export interface ListedHolder extends HolderReport {
  /** Who waits for its key, or for something that conflicts with it. */
  readonly waiters: number;
}

/** Which page of a listing. */
export interface PageOptions {
  /** Only grants with a larger fence, which are younger ones. Default 0n. */
  readonly afterFence?: bigint;
  /** At most so many, 1 to 100. Default 100; a page may have fewer although there are more. */
  readonly limit?: number;
}

/** The session id as reports and logs show it. */
export function maskId(id: string): string {
  return id.length <= 12 ? id : `${id.slice(0, 12)}...`;
}
