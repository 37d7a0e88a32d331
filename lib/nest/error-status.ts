import type { LockError, LockErrorCode } from '../core/index.js';
import { isFromRequest } from './request-key.js';

/** What the outside world is told about a lock error: a status for each kind of transport, and a sentence without inner facts. */
export interface ErrorStatus {
  /** HTTP status; undefined: not mapped, as any other unknown error. */
  readonly http: number | undefined;
  /** gRPC status number. */
  readonly grpc: number;
  readonly message: string;
  /** Whole seconds after which asking again makes sense: the `Retry-After` of HTTP. Undefined where it makes none. */
  readonly retryAfterS?: number;
}

export const INTERNAL_ERROR = 500;

const CANCELLED = 1;
const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const UNAVAILABLE = 14;

const BUSY = 'The resource is locked by somebody else';
const LOST = 'The lock was lost before the work was done';
const STALE = 'The request acts under a lock that is not held any more';
const DOWN = 'The lock service is not available';
const INTERNAL = 'Internal server error';

/** Locks are held for moments, and a lock service that restarts is back in seconds. */
const SOON_S = 1;

function status(http: number | undefined, grpc: number, message: string, retryAfterS?: number): ErrorStatus {
  return { http, grpc, message, ...(retryAfterS === undefined ? undefined : { retryAfterS }) };
}

/** The mapping of design.md, "Errors". */
const ERROR_STATUS: Readonly<Record<LockErrorCode, ErrorStatus>> = {
  LOCK_TIMEOUT: status(423, ABORTED, BUSY, SOON_S),
  LOCK_ABORTED: status(undefined, CANCELLED, 'The wait for the lock was cancelled'),
  LOCK_LOST: status(409, ABORTED, LOST),
  LOCK_NOT_HELD: status(409, FAILED_PRECONDITION, STALE),
  INVALID_TOKEN: status(409, FAILED_PRECONDITION, STALE),
  LOCK_REENTRY: status(500, FAILED_PRECONDITION, INTERNAL),
  DEADLOCK: status(409, ABORTED, 'The request waited for another one that waited for it'),
  STALE_FENCE: status(409, FAILED_PRECONDITION, STALE),
  LOCK_UNAVAILABLE: status(503, UNAVAILABLE, DOWN, SOON_S),
  BACKEND_MISCONFIGURED: status(500, FAILED_PRECONDITION, INTERNAL),
  BACKEND_STATE: status(500, FAILED_PRECONDITION, INTERNAL),
  INVALID_KEY: status(500, INVALID_ARGUMENT, INTERNAL),
  KEY_UNRESOLVED: status(500, INVALID_ARGUMENT, INTERNAL),
  INVALID_OPTION: status(500, INVALID_ARGUMENT, INTERNAL),
  UNSUPPORTED_TARGET: status(500, INVALID_ARGUMENT, INTERNAL),
  CLOSED: status(503, UNAVAILABLE, DOWN, SOON_S),
  NOT_INITIALIZED: status(500, FAILED_PRECONDITION, INTERNAL),
};

/** A key that could not be made from what the client sent. */
const BAD_REQUEST_KEY: ErrorStatus = status(
  400,
  INVALID_ARGUMENT,
  'The request lacks a value that names what is to be locked',
);

/** A fence the client should have sent, or sent in no form anybody writes. */
const BAD_REQUEST_FENCE: ErrorStatus = status(
  400,
  INVALID_ARGUMENT,
  'The request carries no readable fence for what it acts on',
);

/** The answer to one error. */
export function statusOfError(error: LockError): ErrorStatus {
  if (!isFromRequest(error)) return ERROR_STATUS[error.code];
  return error.code === 'INVALID_OPTION' ? BAD_REQUEST_FENCE : BAD_REQUEST_KEY;
}
