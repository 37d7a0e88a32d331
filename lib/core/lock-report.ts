import type { LockKey } from './lock-key.js';

/** One holder as `inspect` shows it. */
export interface HolderReport {
  readonly key: LockKey;
  readonly fence: bigint;
  /** First characters of the session id: enough to tell two apart, not enough to use it. */
  readonly session: string;
  /** The `clientName` its owner gave, a label only. */
  readonly client?: string;
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

/** The session id as reports and logs show it. */
export function maskId(id: string): string {
  return id.length <= 12 ? id : `${id.slice(0, 12)}...`;
}
