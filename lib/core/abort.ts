import type { LockKey } from './lock-key.js';
import { formatKey } from './lock-key.js';
import { LockAbortedError } from './errors.js';

/** Everybody who waits for one signal. */
interface Watched {
  readonly calls: Set<() => void>;
  readonly run: () => void;
}

/** Signals that somebody waits for. */
const watched = new WeakMap<AbortSignal, Watched>();
const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

/**
 * Calls `listener` once when the signal aborts, at once if it already has; disposing takes it back. Listeners must not throw.
 *
 * One listener per signal stands for any number of waits: Node warns of a leak from the eleventh on, and taking one off a
 * signal walks all of them. With the last wait it goes too, so that none is left on a long-lived signal.
 */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): Disposable {
  if (signal === undefined) return NOTHING;
  const call = (): void => listener(signal.reason);
  if (signal.aborted) {
    call();
    return NOTHING;
  }
  const entry = watched.get(signal) ?? watch(signal);
  entry.calls.add(call);
  return { [Symbol.dispose]: () => forget(signal, entry, call) };
}

function watch(signal: AbortSignal): Watched {
  const calls = new Set<() => void>();
  const run = (): void => {
    watched.delete(signal);
    for (const call of calls) call();
  };
  const entry = { calls, run };
  watched.set(signal, entry);
  signal.addEventListener('abort', run, { once: true });
  return entry;
}

/** During the abort itself too: who was taken back by another listener is not called any more. */
function forget(signal: AbortSignal, entry: Watched, call: () => void): void {
  if (!entry.calls.delete(call) || entry.calls.size > 0 || watched.get(signal) !== entry) return;
  watched.delete(signal);
  signal.removeEventListener('abort', entry.run);
}

/** The error of a wait that the caller's own signal ended. */
export function abortedError(key: LockKey, reason: unknown): LockAbortedError {
  return new LockAbortedError(`the wait for ${formatKey(key)} was aborted by its signal`, {
    key,
    cause: reason,
  });
}
