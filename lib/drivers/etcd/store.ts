import type { Clock, DriverHost, Random } from '../../core/index.js';
import { GRACE_CALLS, MIN_GRACE_MS } from './bounds.js';
import type { GuardLeases } from './guard-leases.js';
import type { KeySpace } from './key-space.js';
import type { ReleaseLanes } from './release-lanes.js';
import type { SessionBook } from './session-book.js';
import type { StoreCalls } from './store-calls.js';
import type { Transactions } from './transactions.js';
import type { KeyWatches } from './watch-stream.js';

/** Everything a request needs of the driver it belongs to. */
export interface Store {
  readonly host: DriverHost;
  readonly clock: Clock;
  readonly random: Random;
  readonly calls: StoreCalls;
  readonly keys: KeySpace;
  readonly transactions: Transactions;
  readonly releases: ReleaseLanes;
  readonly sessions: SessionBook;
  readonly guards: GuardLeases;
  readonly watches: KeyWatches;
}

/** What a request gets beyond its wait to learn the store's last word. */
export function graceMs(callTimeoutMs: number): number {
  return Math.max(MIN_GRACE_MS, GRACE_CALLS * callTimeoutMs);
}
