import {
  InvalidTokenError,
  LockNotHeldError,
  LockUnavailableError,
  MAX_ID_BYTES,
  formatKey,
  type LockErrorFacts,
  type LockKey,
  type LockOperation,
} from '../../core/index.js';
import type { Answer } from './answer.js';
import { treeName } from './key-names.js';
import { readRelease, renewQuestion, type Question, type ReleaseResult } from './operations.js';
import { backoffMs, pause } from './pause.js';
import type { RedisSession } from './redis-session.js';

/** A text that is no token of anybody: what cannot be one is asked about as this. */
const NO_TOKEN = '?';

/** What an operation found when the token did not hold. */
type NotHeld = 'other' | 'absent';

/**
 * Releases a lock of whatever process by its token.
 * @throws LockNotHeldError, InvalidTokenError, LockUnavailableError, BackendStateError
 */
export async function releaseByToken(session: RedisSession, key: LockKey, token: string): Promise<void> {
  const facts: LockErrorFacts = { key, operation: 'release' };
  const question: Question<ReleaseResult> = {
    name: 'release',
    tree: treeName(session.options.prefix, key[0]),
    l2: key[1] ?? '',
    // No request stands behind it: nothing is in line under this id, and no copy of an acquire is feared.
    who: `${asToken(token)} ${NO_TOKEN}`,
    meta: '',
    facts,
    words: () => '0 0',
    read: readRelease,
  };
  const { value, repeated } = await askUntilAnswered(session, question, key, 'release');
  if (value === 'released' || repeated) return;
  throw notHeld(key, value, 'release');
}

/**
 * Sets the remaining life of a lock of whatever process to at least `ttlMs`; never shortens it.
 * @throws LockNotHeldError, InvalidTokenError, LockUnavailableError, BackendStateError
 */
export async function extendByToken(
  session: RedisSession,
  key: LockKey,
  token: string,
  ttlMs: number,
): Promise<void> {
  const question = renewQuestion({
    tree: treeName(session.options.prefix, key[0]),
    l2: key[1] ?? '',
    token: asToken(token),
    number: 0,
    ttlMs,
    mode: 'most',
    facts: { key, operation: 'extend' },
  });
  const { value } = await askUntilAnswered(session, question, key, 'extend');
  if (value.type === 'other' || value.type === 'absent') throw notHeld(key, value.type, 'extend');
  if (value.type === 'revoked') throw notHeld(key, 'absent', 'extend');
}

/**
 * Asks again while there is time; `repeated`: an earlier asking may have been carried out.
 * @throws LockUnavailableError, BackendStateError
 */
export async function askUntilAnswered<R>(
  session: RedisSession,
  question: Question<R>,
  key: LockKey,
  name: LockOperation,
): Promise<{ readonly value: R; readonly repeated: boolean }> {
  const { clock, settings, random } = session.host;
  const endMs = clock.monoMs() + settings.releaseTimeoutMs;
  let repeated = false;
  for (let failures = 0; ; failures++) {
    const answer: Answer<R> = await session.calls.ask(question, endMs);
    if (answer.type === 'answered') {
      repeated ||= answer.sending.epoch !== session.calls.link.epoch;
      return { value: answer.value, repeated };
    }
    if (answer.type === 'refused' && !answer.passing) throw answer.error;
    repeated ||= answer.type === 'unanswered';
    if (clock.monoMs() >= endMs || session.calls.link.state === 'closed')
      throw unavailable(answer, key, name);
    await pause(clock, backoffMs(failures, random));
  }
}

/** Ours are printable and short; anything else could not even be sent as one word. */
function asToken(token: string): string {
  return token.length <= MAX_ID_BYTES && /^[\x21-\x7e]+$/.test(token) ? token : NO_TOKEN;
}

function unavailable(
  answer: Exclude<Answer<unknown>, { type: 'answered' }>,
  key: LockKey,
  operation: LockOperation,
): Error {
  if (answer.type === 'refused') return answer.error;
  return new LockUnavailableError(`Redis did not answer the ${operation} of ${formatKey(key)}`, {
    key,
    operation,
    cause: answer.cause,
  });
}

function notHeld(key: LockKey, found: NotHeld, operation: 'release' | 'extend'): Error {
  const facts = { key, operation } as const;
  return found === 'other'
    ? new InvalidTokenError(`the token is not that of the grant of ${formatKey(key)}`, facts)
    : new LockNotHeldError(`${formatKey(key)} is not held`, facts);
}
