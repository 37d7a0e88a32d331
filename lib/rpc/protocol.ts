/** The one protocol version; every request, answer and event carries exactly this. */
export const PROTOCOL_VERSION = '1';

/** Words of `scope`. */
export const SCOPE_L1 = 'l1';
export const SCOPE_L2 = 'l2';

/** Words of `ServerEvent.type`. */
export type WatchEventType = 'WATCH_ESTABLISHED' | 'SESSION_INVALIDATED' | 'PROTOCOL_MISMATCH';

/** Metadata key of the bearer token. */
export const AUTHORIZATION = 'authorization';

/**
 * Bytes of the largest message either side takes. The largest legal request is under 2 KiB; twenty times that lets a
 * key that is far too long still be refused by name instead of by the transport.
 */
export const MAX_MESSAGE_BYTES = 65_536;

/** Clients may ping an idle connection this often; a faster one risks being told to calm down. */
export const MIN_PING_INTERVAL_MS = 10_000;
