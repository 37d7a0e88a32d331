import type { LockErrorCode } from '../core/index.js';

/** What the outside world is told about a lock error: a status for each kind of transport, and a sentence without inner facts. */
export interface ErrorStatus {
  /** HTTP status; undefined: not mapped, as any other unknown error. */
  readonly http: number | undefined;
  /** gRPC status number. */
  readonly grpc: number;
  readonly message: string;
  /** Whether `Retry-After` makes sense. */
  readonly retry: boolean;
}

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

function status(http: number | undefined, grpc: number, message: string, retry = false): ErrorStatus {
  return { http, grpc, message, retry };
}

/** The mapping of design.md, "Errors". */
export const ERROR_STATUS: Readonly<Record<LockErrorCode, ErrorStatus>> = {
  LOCK_TIMEOUT: status(423, ABORTED, BUSY, true),
  LOCK_ABORTED: status(undefined, CANCELLED, 'The wait for the lock was cancelled'),
  LOCK_LOST: status(409, ABORTED, LOST),
  LOCK_NOT_HELD: status(409, FAILED_PRECONDITION, STALE),
  INVALID_TOKEN: status(409, FAILED_PRECONDITION, STALE),
  LOCK_REENTRY: status(500, FAILED_PRECONDITION, INTERNAL),
  DEADLOCK: status(409, ABORTED, 'The request waited for another one that waited for it'),
  STALE_FENCE: status(409, FAILED_PRECONDITION, STALE),
  LOCK_UNAVAILABLE: status(503, UNAVAILABLE, DOWN, true),
  BACKEND_MISCONFIGURED: status(500, FAILED_PRECONDITION, INTERNAL),
  BACKEND_STATE: status(500, FAILED_PRECONDITION, INTERNAL),
  INVALID_KEY: status(500, INVALID_ARGUMENT, INTERNAL),
  KEY_UNRESOLVED: status(500, INVALID_ARGUMENT, INTERNAL),
  INVALID_OPTION: status(500, INVALID_ARGUMENT, INTERNAL),
  UNSUPPORTED_TARGET: status(500, INVALID_ARGUMENT, INTERNAL),
  CLOSED: status(503, UNAVAILABLE, DOWN, true),
  NOT_INITIALIZED: status(500, FAILED_PRECONDITION, INTERNAL),
};

/** A key that could not be made from what the client sent. */
export const BAD_REQUEST_KEY: ErrorStatus = status(
  400,
  INVALID_ARGUMENT,
  'The request lacks a value that names what is to be locked',
);
