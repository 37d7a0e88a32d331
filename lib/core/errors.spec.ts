import * as errors from './errors.js';
import { isLockError } from './errors.js';

const all = [
  new errors.LockTimeoutError('m', { key: ['a'], waitedMs: 5, holder: 'x' }),
  new errors.LockAbortedError('m', { cause: 'why' }),
  new errors.LockLostError('m', { reason: 'expired', lossCode: 'LOCAL_TTL_EXPIRED', fence: 2n ** 60n + 1n }),
  new errors.LockNotHeldError('m', {}),
  new errors.InvalidTokenError('m', {}),
  new errors.LockReentryError('m', {}),
  new errors.DeadlockError('m', { cycle: [['a'], ['b']] }),
  new errors.StaleFenceError('m', { fence: 1n, seen: 2n }),
  new errors.LockUnavailableError('m', { storeCode: 'SERVER_DRAINING' }),
  new errors.BackendStateError('m', { code: 'BACKEND_MISCONFIGURED' }),
  new errors.InvalidKeyError('m', { value: 7 }),
  new errors.InvalidOptionError('m', { option: 'ttlMs', value: 7 }),
  new errors.ClosedError('m'),
  new errors.NotInitializedError('m'),
];

it('only LOCK_TIMEOUT, LOCK_UNAVAILABLE and DEADLOCK are retryable', () => {
  expect(all.filter((error) => error.retryable).map((error) => error.code)).toEqual([
    'LOCK_TIMEOUT',
    'DEADLOCK',
    'LOCK_UNAVAILABLE',
  ]);
});

it('messages are ASCII, whatever the names in them: they travel in headers and statuses', () => {
  const error = new errors.LockTimeoutError('"k" is busy, held by caf\u00e9\r\n\u{1f512}\ud800', {
    waitedMs: 5,
  });
  expect(error.message).toBe('"k" is busy, held by caf\\u00e9\\u000d\n\\ud83d\\udd12\\ud800');
});

it('names are those of the classes and codes differ', () => {
  expect(new Set(all.map((error) => error.code)).size).toBe(all.length);
  for (const error of all) expect(error.name).toBe(error.constructor.name);
});

it('[B-012] every error turns into JSON, fences as exact decimals', () => {
  for (const error of all) expect(() => JSON.stringify(error)).not.toThrow();
  expect(JSON.parse(JSON.stringify(all[2]))).toMatchObject({
    code: 'LOCK_LOST',
    reason: 'expired',
    fence: '1152921504606846977',
  });
});

it('isLockError knows errors of another copy of the package, and nothing else', () => {
  const foreign = Object.assign(new Error('m'), { [Symbol.for('klock.error.v1')]: true, code: 'LOCK_LOST' });
  expect(isLockError(foreign)).toBe(true);
  expect(isLockError(foreign, 'LOCK_TIMEOUT')).toBe(false);
  for (const other of [new Error('m'), null, undefined, 'LOCK_LOST', { code: 'LOCK_LOST' }])
    expect(isLockError(other)).toBe(false);
});

it('[B-025] an abort keeps the signal’s reason as cause, also undefined', () => {
  expect(all[1]?.cause).toBe('why');
  expect('cause' in new errors.LockAbortedError('m', {})).toBe(true);
});
