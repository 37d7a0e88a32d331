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

/** While a slot of a Cluster moves, a script finds some keys of a tree here and some not, and may stop half-way. */
const MOVING = /attempted to access a non local key/i;
const CLUSTER_DOWN = /attempted to execute .* while the cluster is down/i;

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
  const word = wordOf(reply);
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

/** The code of a reply, also where scripts hide it behind ERR. */
function wordOf(reply: string): string | undefined {
  if (MOVING.test(reply)) return 'TRYAGAIN';
  return CLUSTER_DOWN.test(reply) ? 'CLUSTERDOWN' : leadingCode(reply);
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
