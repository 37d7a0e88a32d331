import type { Clock, LockKey, Random } from '../core/index.js';
import type { LogSettings } from './log-settings.js';
import type { ServerLog } from './server-log.js';

/** Calls a peer may make: `rps` a second on average, `burst` at once. */
export interface RateLimit {
  /** 0 or less means 200. Default 1,000. */
  readonly rps?: number;
  /** 0 or less means twice `rps`. Default 2,000. */
  readonly burst?: number;
}

/** What an operator asks to end, and what is known of who asks. */
export interface RevokeAsked {
  readonly key: LockKey;
  /** The one grant that is meant. */
  readonly fence?: bigint;
  readonly below: boolean;
  /** Address and port the call came from. */
  readonly peer: string;
  /** The label the caller gives itself: no proof of anything. */
  readonly client: string;
}

/** How a lock server is set up. Everything is checked at once when the server is made; one error lists all that is wrong. */
export interface ServerOptions {
  /**
   * `host:port`, `[ipv6]:port` or `:port` (all interfaces); port 0 takes a free one.
   * Default `:8080` with a token, `127.0.0.1:8080` without.
   */
  readonly address?: string;
  /** Binding other than to a loopback address without a token is refused unless this is true. Default false. */
  readonly allowInsecurePublicBind?: boolean;
  /** Whoever calls must present it as `authorization: Bearer <token>`. Blanks around it are ignored; absent or blank: no check. */
  readonly authToken?: string;
  /** Also takes the token without the word Bearer, as older clients may send it. Default false. */
  readonly acceptRawToken?: boolean;
  /** Lease of a session that asks for none, in milliseconds. 0 or less: every session must ask. Default 8,000. */
  readonly defaultLeaseMs?: number;
  /** Shorter leases are raised to this. Default 1. */
  readonly minLeaseMs?: number;
  /** Longer leases are lowered to this. 0 or less: no maximum. Default 60,000. */
  readonly maxLeaseMs?: number;
  /** Per peer, for opening sessions and watches and for acquiring; `false` switches it off. */
  readonly rateLimit?: RateLimit | false;
  /** Finished requests remembered for one session, acquires and releases each. 0 or less: 65,536, the default. */
  readonly idempotencyEntries?: number;
  /** How long they are remembered; 0 or less: no age limit. Default 3,600,000. */
  readonly idempotencyTtlMs?: number;
  /** Accepted for older set-ups, without effect. Default 1,024. */
  readonly shards?: number;
  /**
   * Directory in which fences, the longest lease and a clean end are remembered. Without it a crash can let old
   * holders and new ones overlap: under NODE_ENV=production every start then waits for the longest lease first.
   */
  readonly stateDir?: string;
  /** Says that no earlier server on this state directory, or of this name, can have clients: no quarantine. Default false. */
  readonly firstStart?: boolean;
  /** How long a stop waits for clients to close their sessions. Default 10,000. */
  readonly drainMs?: number;
  /**
   * Who may end locks of others (`klock.revoke`): whoever may call the service (true, the default), nobody (false), or
   * whom this says yes to. One that throws says no.
   */
  readonly mayRevoke?: boolean | ((asked: RevokeAsked) => boolean);
  /** Live sessions, default 100,000. */
  readonly maxSessions?: number;
  /** Waiters in all, default 200,000. */
  readonly maxWaiters?: number;
  /** Waiters of one key, default 20,000. */
  readonly maxWaitersPerKey?: number;
  /** Locks of one session, default 200,000. */
  readonly maxLocksPerSession?: number;
  /** Open connections, default 20,000. */
  readonly maxConnections?: number;
  /** A log of your own, or the settings of the built-in one; absent: nothing is written. */
  readonly log?: ServerLog | LogSettings;
  /** NODE_ENV=production, unless said otherwise. */
  readonly production?: boolean;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Settings of a server after checking, complete. */
export interface ServerSettings {
  readonly host: string | undefined;
  readonly port: number;
  readonly authToken: string | undefined;
  readonly acceptRawToken: boolean;
  readonly defaultLeaseMs: number;
  readonly minLeaseMs: number;
  readonly maxLeaseMs: number;
  readonly rateLimit: { readonly rps: number; readonly burst: number } | undefined;
  readonly idempotencyEntries: number;
  readonly idempotencyTtlMs: number;
  readonly stateDir: string | undefined;
  readonly firstStart: boolean;
  readonly drainMs: number;
  readonly mayRevoke: (asked: RevokeAsked) => boolean;
  readonly maxSessions: number;
  readonly maxWaiters: number;
  readonly maxWaitersPerKey: number;
  readonly maxLocksPerSession: number;
  readonly maxConnections: number;
  readonly production: boolean;
}
