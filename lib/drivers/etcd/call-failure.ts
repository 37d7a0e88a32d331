import {
  BackendStateError,
  LockUnavailableError,
  type LockError,
  type LockErrorFacts,
} from '../../core/index.js';
import { type CallError } from './transport.js';

/**
 * What a failed call means:
 * `unresolved`: it may have been carried out; `login`: not carried out, the token is over;
 * `lease-gone`: not carried out, the lease does not exist; `full`: not carried out, no space; `refused`: not carried out, and never will be.
 */
export type FailureKind = 'unresolved' | 'login' | 'lease-gone' | 'full' | 'refused';

const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const OUT_OF_RANGE = 11;
const UNIMPLEMENTED = 12;
const UNAUTHENTICATED = 16;

const DEFINITE: readonly number[] = [
  INVALID_ARGUMENT,
  PERMISSION_DENIED,
  FAILED_PRECONDITION,
  OUT_OF_RANGE,
  UNIMPLEMENTED,
  UNAUTHENTICATED,
];

/** Everything that is not known to be a refusal may have been carried out. */
export function failureKind(error: CallError): FailureKind {
  if (error.status === UNAUTHENTICATED && error.details.includes('invalid auth token')) return 'login';
  if (error.status === INVALID_ARGUMENT && error.details.includes('revision in header is old'))
    return 'login';
  if (error.status === NOT_FOUND && error.details.includes('lease not found')) return 'lease-gone';
  // "too many requests" passes, and was not carried out either: it is asked again like an unanswered call.
  if (error.status === RESOURCE_EXHAUSTED && error.details.includes('space')) return 'full';
  return DEFINITE.includes(error.status) ? 'refused' : 'unresolved';
}

/** A call that etcd refused for good, or that needs its caller's decision. */
export class StoreRefusal extends Error {
  override readonly name = 'StoreRefusal';

  constructor(
    readonly kind: Exclude<FailureKind, 'unresolved'>,
    override readonly cause: CallError,
  ) {
    super(cause.message);
  }
}

/** Nobody answered within the time given. The call may have been carried out. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';

  constructor(override readonly cause: unknown) {
    super('no member of etcd answered in time');
  }
}

/** What the caller of klock gets for a failure of the store. */
export function storeError(failure: unknown, doing: string, facts: LockErrorFacts): LockError {
  if (!(failure instanceof StoreRefusal)) {
    return new LockUnavailableError(`etcd did not answer in time while ${doing}${reasonOf(failure)}`, {
      ...facts,
      cause: failure,
    });
  }
  const said = failure.cause.details;
  switch (failure.kind) {
    case 'full':
      return new LockUnavailableError(`etcd has no space left while ${doing}: ${said}`, {
        ...facts,
        storeCode: 'STORE_FULL',
        cause: failure.cause,
      });
    case 'lease-gone':
      return new LockUnavailableError(`the etcd lease of this client ended while ${doing}`, {
        ...facts,
        storeCode: 'SESSION_GONE',
        cause: failure.cause,
      });
    case 'login':
    case 'refused':
      return new BackendStateError(`etcd refused while ${doing}: ${said}`, {
        ...facts,
        code: 'BACKEND_MISCONFIGURED',
        cause: failure.cause,
      });
  }
}

/** What the member asked last said, or what became of the connection to it. */
function reasonOf(failure: unknown): string {
  const last = failure instanceof Unanswered ? failure.cause : failure;
  return last instanceof Error ? `: ${last.message}` : '';
}
