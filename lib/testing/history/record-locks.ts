import type { Clock, Klock, KeyInput, AcquireOptions, LockHandle } from '../../core/index.js';
import { isLockError, systemClock } from '../../core/index.js';
import type { HistoryRecorder } from './history.js';

/**
 * Holds a key once and writes what its client believed into a recorder: from the grant to the first of release call and
 * loss notice, read on `clock`. Resolves false where the lock was not got; never rejects for a lock error.
 */
export async function recordLocks(
  recorder: HistoryRecorder,
  klock: Klock,
  client: string,
  key: KeyInput,
  options: AcquireOptions,
  section: (lock: LockHandle) => Promise<void>,
  clock: Clock = systemClock,
): Promise<boolean> {
  const calledAtMs = clock.wallMs();
  const lock = await klock.acquire(key, options).catch((error: unknown) => {
    if (isLockError(error)) return undefined;
    throw error;
  });
  if (lock === undefined) return false;
  const grantedAtMs = clock.wallMs();
  let endedAtMs = Infinity;
  const end = (): void => void (endedAtMs = Math.min(endedAtMs, clock.wallMs()));
  lock.signal.addEventListener('abort', end, { once: true });
  try {
    await section(lock);
  } finally {
    end();
    lock.signal.removeEventListener('abort', end);
    const { fence } = lock;
    recorder.grant({ key: lock.key, client, fence, calledAtMs, grantedAtMs, endedAtMs });
    await lock.release();
  }
  return true;
}
