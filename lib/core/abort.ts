import type { LockKey } from './lock-key.js';
import { formatKey } from './lock-key.js';
import { LockAbortedError } from './errors.js';

/** Calls `listener` once when the signal aborts, at once if it already has; disposing removes it, so that no listener is left on a long-lived signal. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): Disposable {
  if (signal === undefined) return { [Symbol.dispose]: () => undefined };
  const run = (): void => listener(signal.reason);
  if (signal.aborted) {
    run();
    return { [Symbol.dispose]: () => undefined };
  }
  signal.addEventListener('abort', run, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', run) };
}

/** The error of a wait that the caller's own signal ended. */
export function abortedError(key: LockKey, reason: unknown): LockAbortedError {
  return new LockAbortedError(`the wait for ${formatKey(key)} was aborted by its signal`, {
    key,
    cause: reason,
  });
}
