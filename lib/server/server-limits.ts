/** Bounds of the server that are no setting, each with its reason (design D11). */

/**
 * Calls open at once on one connection. Each waiting acquire of a client is one, and a client beyond the bound queues
 * its heartbeats behind its waits; so it is as long as the longest queue of one key.
 */
export const MAX_STREAMS_PER_CONNECTION = 20_000;

/** Connections open at once: a connection costs about 50 KB, a client process needs one. */
export const MAX_CONNECTIONS = 20_000;

/** A connection that has not sent the HTTP/2 preface by then is no client. */
export const PREFACE_TIMEOUT_MS = 10_000;

/** Bytes of the HTTP/2 connection preface. */
export const PREFACE_BYTES = 24;

/** Silence after which the server asks a connection whether it is alive, and how long it waits for the answer. */
export const KEEPALIVE_TIME_MS = 10_000;
export const KEEPALIVE_TIMEOUT_MS = 5_000;

/** Watches of one session: one of the client itself, one across its reconnect, and room for a person who looks. */
export const MAX_WATCHES_PER_SESSION = 16;

/** Watches in all: each is an open stream. */
export const MAX_WATCHES = 100_000;

/** A watch that has not named its session by then is ended, or it would hold up a graceful stop for ever. */
export const FIRST_MESSAGE_TIMEOUT_MS = 5_000;

/** Events a slow watcher has not read yet; further ones are dropped and counted. */
export const MAX_UNREAD_EVENTS = 16;

/** Rate-limit buckets: the least recently used goes first. */
export const MAX_RATE_BUCKETS = 50_000;

/** A bucket nobody used for this long is full again and may be forgotten. */
export const IDLE_BUCKET_MS = 120_000;

/** How often idle buckets are looked for. */
export const BUCKET_SWEEP_MS = 60_000;

/** How often the counters go to the log. */
export const REPORT_EVERY_MS = 30_000;

/** A grant whose answer could not be written waits this long for a repeat of its request before it is given back. */
export const UNDELIVERED_KEEP_MS = 500;

/** Bytes of log lines not yet written; more are dropped and counted, since a slow disk must not stop the server. */
export const MAX_UNWRITTEN_LOG_BYTES = 4_194_304;

/** A request whose attempt ended without a lock keeps its arrival number this long for its next attempt (design D4). */
export const ATTEMPT_KEEPS_PLACE_MS = 1_000;

/** After the drain, answers under way have this long to get out. */
export const CLOSE_GRACE_MS = 1_000;

/** Fences one grant of a channel may cover: how often it can be passed on inside its process. */
export const MAX_CHANNEL_SPAN = 1_024;

/** Answers a channel's client has not acknowledged; from here on new acquires are refused for now. */
export const MAX_UNACKNOWLEDGED_ANSWERS = 100_000;

/** And from here on its stream is ended: a client that reads again and resumes finds everything. */
export const MAX_UNREAD_ANSWERS = 200_000;

/** Holders and waiters in the reports a channel's client has not acknowledged, about 200 bytes each; further questions are refused for now. */
export const MAX_UNREAD_REPORT_ENTRIES = 50_000;
