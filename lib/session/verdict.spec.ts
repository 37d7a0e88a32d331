import { isLockError } from '../core/index.js';
import type { NoAnswer } from './call-outcome.js';
import { failed, refused, unsent } from './outcomes.spec-support.js';
import { describeOutcome, errorOfOutcome } from './refusal-error.js';
import { mayAskAgain, mayReleaseAgain, verdictOf } from './verdict.js';

describe('verdictOf', () => {
  it.each<[string, NoAnswer, string]>([
    ['LOCK_TIMEOUT', refused('LOCK_TIMEOUT', 409), 'busy'],
    ['SESSION_GONE', refused('SESSION_GONE', 410), 'session-over'],
    ['SESSION_NOT_FOUND', refused('SESSION_NOT_FOUND', 404), 'session-over'],
    ['SERVER_INSTANCE_MISMATCH', refused('SERVER_INSTANCE_MISMATCH', 409), 'other-server'],
    ['SERVER_DRAINING', refused('SERVER_DRAINING', 503), 'passing'],
    ['SERVER_RECOVERING', refused('SERVER_RECOVERING', 503), 'passing'],
    ['a 503 code nobody knows', refused('SOMETHING_NEW', 503), 'passing'],
    ['INTERNAL', refused('INTERNAL', 500), 'unresolved'],
    ['UNAVAILABLE', failed('UNAVAILABLE'), 'unresolved'],
    ['DEADLINE_EXCEEDED', failed('DEADLINE_EXCEEDED'), 'unresolved'],
    ['RESOURCE_EXHAUSTED', failed('RESOURCE_EXHAUSTED'), 'passing'],
    ['a cancel nobody here made', failed('CANCELLED'), 'unresolved'],
    ['any other gRPC status', failed('OTHER'), 'unresolved'],
    ['no connection', unsent, 'unsent'],
  ])('[K-155] [K-157] asks again after %s', (_, outcome, verdict) => {
    expect(verdictOf(outcome)).toBe(verdict);
    expect(mayAskAgain(verdictOf(outcome))).toBe(true);
  });

  it.each<[string, NoAnswer]>([
    ['BAD_REQUEST', refused('BAD_REQUEST', 400)],
    ['IDEMPOTENCY_CONFLICT', refused('IDEMPOTENCY_CONFLICT', 409)],
    ['PROTOCOL_MISMATCH', refused('PROTOCOL_MISMATCH', 409)],
    ['a code below 500 nobody knows', refused('constructor', 418)],
    ['UNAUTHENTICATED', failed('UNAUTHENTICATED')],
    ['PERMISSION_DENIED', failed('PERMISSION_DENIED')],
    ['INVALID_ARGUMENT', failed('INVALID_ARGUMENT')],
    ['NOT_FOUND', failed('NOT_FOUND')],
    ['UNIMPLEMENTED', failed('UNIMPLEMENTED')],
  ])('[K-156] does not ask again with the same id after %s', (_, outcome) => {
    expect(mayAskAgain(verdictOf(outcome))).toBe(false);
    expect(verdictOf(outcome)).not.toBe('unresolved');
  });

  it('repeats a release after everything but a definite word about its token or session', () => {
    const final = ['LOCK_NOT_FOUND', 'SESSION_GONE', 'SESSION_NOT_FOUND', 'SERVER_INSTANCE_MISMATCH'];
    for (const code of final) expect(mayReleaseAgain(verdictOf(refused(code, 404)))).toBe(false);
    for (const outcome of [unsent, failed('UNAVAILABLE'), failed('UNAUTHENTICATED'), refused('X', 503)]) {
      expect(mayReleaseAgain(verdictOf(outcome))).toBe(true);
    }
  });
});

describe('errorOfOutcome', () => {
  it('calls what can pass LOCK_UNAVAILABLE with the code of the store, and keeps the cause', () => {
    const draining = errorOfOutcome(refused('SERVER_DRAINING', 503), { operation: 'acquire', key: ['a'] });
    expect(draining).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      retryable: true,
      storeCode: 'SERVER_DRAINING',
    });
    expect(isLockError(errorOfOutcome(unsent), 'LOCK_UNAVAILABLE')).toBe(true);
    expect(errorOfOutcome(unsent).cause).toBeInstanceOf(Error);
  });

  it('calls what is refused for good BACKEND_MISCONFIGURED', () => {
    for (const outcome of [failed('UNAUTHENTICATED'), refused('PROTOCOL_MISMATCH', 409)]) {
      expect(errorOfOutcome(outcome)).toMatchObject({ code: 'BACKEND_MISCONFIGURED', retryable: false });
    }
  });

  it('describes each outcome in one line', () => {
    expect(describeOutcome(refused('BAD_REQUEST', 400))).toBe('BAD_REQUEST "told BAD_REQUEST"');
    expect(describeOutcome(failed('UNAVAILABLE'))).toBe('UNAVAILABLE "UNAVAILABLE"');
    expect(describeOutcome({ kind: 'unsent', cause: 'plain' })).toBe('plain');
  });
});
