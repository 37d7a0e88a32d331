import type { Clock } from './clock.js';

/** Resolves after `ms`, or at once when `interrupt` calls back. The process stays alive for it: someone waits for the outcome. */
export function pause(clock: Clock, ms: number, interrupt?: (wake: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    // Set after `done` exists, since an event that has happened calls it at once.
    let forget: (() => void) | undefined = undefined;
    const timer = clock.after(ms, () => done(), { keepAlive: true });
    const done = (): void => {
      timer.cancel();
      forget?.();
      resolve();
    };
    forget = interrupt?.(done);
  });
}
