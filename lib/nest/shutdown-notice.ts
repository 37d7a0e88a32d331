import type { Logger } from '@nestjs/common';
import type { Clock, Timer } from '../core/index.js';

/** What orchestrators and terminals send to end a process. */
const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** After the start: `enableShutdownHooks()` may follow `listen()`, and most tests are over by then. */
const LOOK_AFTER_MS = 1_000;

/** Counts the listeners of a signal; `process.listenerCount` but for tests. */
export type CountListeners = (signal: (typeof SIGNALS)[number]) => number;

/**
 * Says once, a moment after the start, that no signal would close the application: its locks would stay until their leases
 * end. It only looks: listeners are the application's to add. A listener of anybody counts, since it may call `app.close()`.
 */
export function noticeMissingHooks(clock: Clock, logger: Logger, listeners: CountListeners): Timer {
  return clock.after(LOOK_AFTER_MS, () => {
    if (SIGNALS.some((signal) => listeners(signal) > 0)) return;
    logger.warn(
      'Nothing listens for SIGTERM or SIGINT: a process that is told to stop leaves its locks until their leases end. Call app.enableShutdownHooks().',
    );
  });
}
