// Every bound of the driver, with its reason (design D11).

/** Deadline of one call on one member unless set: several times what a healthy cluster takes, short enough to be on another member within a second. */
export const DEFAULT_CALL_TIMEOUT_MS = 800;

/** What an acquire gets beyond its wait to learn the store's answer, in calls: one that a stopped member swallows, and one more. */
export const GRACE_CALLS = 2;
/** And at least this long (design D8). */
export const MIN_GRACE_MS = 1_000;

/** No copy of an acquire is sent later than this after the first; a guard outlives it twice over (design D4). */
export const MAX_COPY_AGE_MS = 30_000;

/** One round of trying to give something back, after which it is asked whether there still is something to give back. */
export const ROUND_MS = 2_000;

/** Calls of one client under way that give locks back. */
export const RELEASE_LANES = 4;
/** Releases in one call: half of what etcd takes in a transaction by default. */
export const RELEASES_A_CALL = 64;
/** A release waits no longer than this for others to be answered. */
export const RELEASE_WAITS_MS = 50;

/** Life of the lease that guards are put on, and for how long one lease is used: each guard lives for 60 s or more. */
export const GUARD_LEASE_S = 90n;
export const GUARD_ROTATION_MS = 30_000;

/** Pauses between attempts when every member has failed: the store that is back must be met within a second. */
export const MIN_PAUSE_MS = 20;
export const MAX_PAUSE_MS = 500;

/** A session without grant, waiter or unanswered operation is closed after this long (design D9). */
export const IDLE_SESSION_MS = 30_000;

/** Waiters of one client: each has a watch, about 1 KB here and as much in etcd. */
export const MAX_PENDING = 20_000;

/** An acquire waits this long for the client's own release of the same key to be answered; a slow store must not add to its wait. */
export const OWN_RELEASE_MS = 100;

/** A waiter looks for itself this often although no watch woke it, and never less often than at half of its lease (case B-052). */
export const MAX_RECHECK_MS = 5_000;

/** A grant held longer than this is watched: its deletion by somebody else is loss at once. Shorter ones are not worth a watch. */
export const WATCH_HOLD_AFTER_MS = 500;

/** A watch stream that was silent this long is asked for a sign of life, and given up if none comes. */
export const WATCH_QUIET_MS = 500;
export const WATCH_ANSWER_MS = 800;
/** A stream without watches is kept this long: the next waiter is often near. */
export const WATCH_LINGER_MS = 1_000;

/** Entries read at once for `inspect`, and leases asked for what is left of them. */
export const INSPECT_ENTRIES = 1_000n;
export const INSPECT_LEASES = 64;
/** Grants an operator ends at the same time, each in a transaction of its own. */
export const REVOKED_AT_ONCE = 16;
/** Waiters a report shows. */
export const REPORT_WAITERS = 100;

/** Predecessors read at once: one, and a few more in case foreign keys stand between. */
export const PREDECESSORS = 4n;

/** A reply may carry this many bytes: 1,000 entries with full metadata, and room. */
export const MAX_REPLY_BYTES = 16 * 1_024 * 1_024;
