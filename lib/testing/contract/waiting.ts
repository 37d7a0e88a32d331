import { systemClock, type Timer } from '../../core/index.js';

/** Waits for real time: real stores have real clocks. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => systemClock.after(ms, resolve, { keepAlive: true }));
}

/** How long a promise took to settle, and how it ended. */
export async function timed<T>(promise: PromiseLike<T>): Promise<{ ms: number; value?: T; error?: unknown }> {
  const startedMs = systemClock.monoMs();
  try {
    const value = await promise;
    return { ms: systemClock.monoMs() - startedMs, value };
  } catch (error) {
    return { ms: systemClock.monoMs() - startedMs, error };
  }
}

/** Fails unless the promise settles within `ms`. */
export async function within<T>(ms: number, what: string, promise: PromiseLike<T>): Promise<T> {
  const late = Symbol('late');
  let timer: Timer | undefined;
  const timeout = new Promise<typeof late>((resolve) => {
    timer = systemClock.after(ms, () => resolve(late), { keepAlive: true });
  });
  try {
    const first = await Promise.race([promise, timeout]);
    if (first === late) throw new Error(`${what} took longer than ${ms} ms`);
    return first;
  } finally {
    timer?.cancel();
  }
}
