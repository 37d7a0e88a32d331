import {
  BackendStateError,
  LockUnavailableError,
  type LockError,
  type LockErrorFacts,
} from '../../core/index.js';
import { leadingCode, replyCode } from '../../redis-client/index.js';

/** Error replies that pass by themselves: the command was not carried out, and may be a moment later. */
const PASSING = new Set([
  'READONLY',
  'OOM',
  'MISCONF',
  'LOADING',
  'BUSY',
  'UNKILLABLE',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'NOREPLICAS',
  'MOVED',
  'ASK',
]);

/** Replies that mean wrong set-up: no repetition helps. */
const MISCONFIGURED = new Set(['NOPERM', 'NOAUTH', 'WRONGPASS', 'DENIED', 'NOPROTO', 'CROSSSLOT']);
/** The same without a word of their own. */
const MISCONFIGURED_TEXT =
  /unknown (command|subcommand)|can't (access|run)|not allowed from script|no permission|undeclared key/i;

/** Replies to a client that could not log in. */
const NOT_LET_IN = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM']);

/** Whether a client that is not connected never will be, as things are set up. */
export function isNotLetIn(trouble: unknown): trouble is Error {
  return NOT_LET_IN.has(replyCode(trouble) ?? '');
}

export interface Refused {
  readonly error: LockError;
  readonly passing: boolean;
}

/** What an error reply of Redis means for a lock. `where` names its key in Redis. */
export function refusal(reply: string, where: string, facts: LockErrorFacts): Refused {
  const word = leadingCode(reply);
  if (word !== undefined && PASSING.has(word)) {
    const message = `Redis cannot serve ${where} at the moment: ${reply}`;
    return { error: new LockUnavailableError(message, { ...facts, storeCode: word }), passing: true };
  }
  if (reply.includes('maxmemory')) {
    const message = `Redis has no memory for ${where}: ${reply}`;
    return { error: new LockUnavailableError(message, { ...facts, storeCode: 'OOM' }), passing: true };
  }
  if ((word !== undefined && MISCONFIGURED.has(word)) || MISCONFIGURED_TEXT.test(reply)) {
    const message = `Redis refuses ${where} for good: ${reply}`;
    return {
      error: new BackendStateError(message, { ...facts, code: 'BACKEND_MISCONFIGURED' }),
      passing: false,
    };
  }
  return {
    error: new BackendStateError(`what Redis holds for ${where} cannot be used: ${reply}`, facts),
    passing: false,
  };
}

/** A result of one operation that says that it failed; undefined if it says anything else. */
export function failedResult(
  first: string,
  detail: string,
  where: string,
  facts: LockErrorFacts,
): Refused | undefined {
  switch (first) {
    case 'error':
      return refusal(detail, where, facts);
    case 'state':
      return {
        error: new BackendStateError(`what Redis holds for ${where} cannot be used: ${detail}`, facts),
        passing: false,
      };
    case 'full':
      return {
        error: new LockUnavailableError(`${where} cannot be waited for: ${detail}`, {
          ...facts,
          storeCode: 'WAITERS',
        }),
        passing: false,
      };
    default:
      return undefined;
  }
}
