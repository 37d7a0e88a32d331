import type { ErrorStatus } from './gen/lock.js';
import { PROTOCOL_VERSION } from './protocol.js';
import { statusText } from './status-text.js';

/**
 * Every code a server of this protocol answers with, and its number. Numbers from 500 say "ask again later";
 * clients that do not know a code decide by its number alone.
 */
export const WIRE_STATUS = {
  /** Something in the request cannot be used. */
  BAD_REQUEST: 400,
  /** The server's own rules do not let this client do it. */
  FORBIDDEN: 403,
  /** Never existed, or is forgotten. */
  SESSION_NOT_FOUND: 404,
  /** The token is not held by this session. */
  LOCK_NOT_FOUND: 404,
  /** The wait ended and the key was busy. */
  LOCK_TIMEOUT: 409,
  /** The request id stands for something else, or for a grant that has ended. */
  IDEMPOTENCY_CONFLICT: 409,
  PROTOCOL_MISMATCH: 409,
  SERVER_INSTANCE_MISMATCH: 409,
  /** Ended, and still remembered; the message carries the reason word. */
  SESSION_GONE: 410,
  /** A defect of the server; the message says nothing about it. */
  INTERNAL: 500,
  SERVER_DRAINING: 503,
  /** Started after an unclean end: no grants before every old lease has run out. */
  SERVER_RECOVERING: 503,
  /** A bound on sessions, waiters or locks is reached. */
  SERVER_OVERLOADED: 503,
  /** The server cannot make fences durable, or does not own its state any more. */
  STORAGE_UNAVAILABLE: 503,
} as const;

export type WireCode = keyof typeof WIRE_STATUS;

/** Whether a text is a code this version knows. */
export function isWireCode(code: string): code is WireCode {
  return Object.hasOwn(WIRE_STATUS, code);
}

/** Reason words in the messages of SESSION_GONE and SESSION_INVALIDATED. */
export const SESSION_END_WORDS = ['lease_expired', 'client_close', 'server_restarting'] as const;

/** The error part of an answer, complete. The message is made ASCII and cut to 1 KiB. */
export function errorStatus(code: WireCode, message: string, serverId: string): ErrorStatus {
  return {
    status: WIRE_STATUS[code],
    code,
    message: statusText(message),
    serverId,
    protocolVersion: PROTOCOL_VERSION,
  };
}
