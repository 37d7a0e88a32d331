import {
  BackendStateError,
  LockUnavailableError,
  quote,
  type LockErrorFacts,
  type LockOperation,
} from '../core/index.js';
import type { NoAnswer } from './call-outcome.js';
import { verdictOf } from './verdict.js';

/** The error a caller gets when the server, or the way to it, ended an operation. The cause is kept; no token is named. */
export function errorOfOutcome(
  outcome: NoAnswer,
  facts: { readonly operation?: LockOperation } & Pick<LockErrorFacts, 'key'> = {},
): LockUnavailableError | BackendStateError {
  const verdict = verdictOf(outcome);
  const described = describeOutcome(outcome);
  const cause = outcome.kind === 'refused' ? undefined : outcome.cause;
  if (verdict === 'final' || verdict === 'other-protocol') {
    return new BackendStateError(`the lock server refused for good: ${described}`, {
      ...facts,
      cause,
      code: 'BACKEND_MISCONFIGURED',
    });
  }
  return new LockUnavailableError(`the lock server is not available: ${described}`, {
    ...facts,
    cause,
    ...(outcome.kind === 'refused' ? { storeCode: outcome.refusal.code } : {}),
  });
}

/** An outcome in a few words. */
export function describeOutcome(outcome: NoAnswer): string {
  switch (outcome.kind) {
    case 'refused':
      return `${outcome.refusal.code} ${quote(outcome.refusal.message)}`;
    case 'failed':
      return `${outcome.status} ${quote(causeText(outcome.cause))}`;
    case 'unsent':
      return causeText(outcome.cause);
  }
}

/** What a cause says of itself. By its shape: errors of the runtime may come from another realm. */
export function causeText(cause: unknown): string {
  const message =
    typeof cause === 'object' && cause !== null ? (cause as { message?: unknown }).message : cause;
  return typeof message === 'string' ? message : String(cause);
}
