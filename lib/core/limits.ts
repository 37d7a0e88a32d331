/** Every bound of klock, with its reason. A bound is hit with an error code, never by silent loss (design D11). */

/** UTF-8 bytes of one key segment: long enough for two UUIDs and a path, short enough that 100,000 remembered keys stay in memory. */
export const MAX_KEY_SEGMENT_BYTES = 512;

/** UTF-8 bytes of a session id, request id or token: ours have 37 at most, other clients' are counters. */
export const MAX_ID_BYTES = 128;

/** The largest duration a Node timer can hold, and so the largest a lease or wait may have: about 24.8 days. */
export const MAX_DURATION_MS = 2_147_483_647;

/** Entries of `metadata`: labels for a person who reads `inspect`, not a place to keep data. */
export const MAX_METADATA_ENTRIES = 16;

/** UTF-8 bytes of all metadata keys and values of one grant together. */
export const MAX_METADATA_BYTES = 2_048;

/** UTF-8 bytes of `clientName`, `namespace` and a view's prefix: they are repeated in every key or report. */
export const MAX_LABEL_BYTES = 128;

/** Characters of a value quoted in an error message; what is longer is cut, so that a message never exceeds a header limit. */
export const MAX_QUOTED_CHARACTERS = 80;

/** Waiters of one engine table per key: a queue longer than this waits for minutes and is better refused at once. */
export const MAX_WAITERS_PER_KEY = 20_000;

/** Waiters of one engine table in all. */
export const MAX_WAITERS = 200_000;

/** Live sessions of one engine: about 24 KB each on the server. */
export const MAX_SESSIONS = 100_000;

/** Locks one session may hold at once. */
export const MAX_LOCKS_PER_SESSION = 200_000;

/** The largest fence a grant may carry: the store refuses beyond it instead of wrapping (uint64 on the wire, signed in SQL). */
export const MAX_FENCE = 2n ** 63n - 1n;
