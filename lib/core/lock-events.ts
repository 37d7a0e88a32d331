import type { LockKey } from './lock-key.js';
import type { LossReason } from './errors.js';
import type { ReleaseOutcome } from './lock-handle.js';

interface GrantFacts {
  readonly key: LockKey;
  readonly fence: bigint;
  readonly sessionId: string;
}

/** What an instance tells its listeners. Events carry no token of a live grant. */
export type LockEvent =
  | (GrantFacts & { readonly type: 'lock.granted'; readonly waitedMs: number })
  | (GrantFacts & {
      readonly type: 'lock.released';
      readonly heldMs: number;
      readonly outcome: ReleaseOutcome;
      readonly token: string;
    })
  | (GrantFacts & {
      /** Exactly once for each grant that ends without a release. The token is dead and may be shown. */
      readonly type: 'lock.lost';
      readonly reason: LossReason;
      readonly code: string;
      readonly heldMs: number;
      readonly token: string;
      readonly oldServer?: string;
      readonly newServer?: string;
    })
  | {
      /** A renewal failed; the locks of this lease are still held, for `remainingMs` more at the least. */
      readonly type: 'lease.jeopardy';
      readonly sessionId: string;
      readonly remainingMs: number;
      readonly locks: number;
      readonly cause: unknown;
    }
  | { readonly type: 'lease.renewed'; readonly sessionId: string; readonly tookMs: number }
  | {
      readonly type: 'acquire.failed';
      readonly key: LockKey;
      readonly code: string;
      readonly waitedMs: number;
    }
  | {
      readonly type: 'release.failed';
      readonly key: LockKey;
      readonly fence: bigint;
      readonly outcome: 'unknown';
      readonly cause: unknown;
    }
  | {
      readonly type: 'lock.long-held';
      readonly key: LockKey;
      readonly fence: bigint;
      readonly heldMs: number;
    }
  | { readonly type: 'store.unavailable'; readonly cause: unknown }
  | { readonly type: 'store.available' }
  | { readonly type: 'warning'; readonly code: string; readonly message: string; readonly cause?: unknown };

/** Every type there is. */
export const LOCK_EVENT_TYPES = Object.keys({
  'lock.granted': 0,
  'lock.released': 0,
  'lock.lost': 0,
  'lease.jeopardy': 0,
  'lease.renewed': 0,
  'acquire.failed': 0,
  'release.failed': 0,
  'lock.long-held': 0,
  'store.unavailable': 0,
  'store.available': 0,
  warning: 0,
} satisfies Record<LockEvent['type'], 0>) as readonly LockEvent['type'][];
