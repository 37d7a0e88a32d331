import type { Logger } from '@nestjs/common';
import type { Klock } from '../core/index.js';
import { formatKey, quote } from '../core/index.js';

/** Writes to Nest's log what somebody should know although no caller is told. Ends with the instance. */
export function logEvents(klock: Klock, logger: Logger): void {
  klock.on('lock.lost', ({ key, reason, code }) => {
    // A shutdown reports what it abandons in one line.
    if (reason === 'closed') return;
    logger.warn(`${klock.name}: lock ${formatKey(key)} was lost: ${reason} (${code})`);
  });
  klock.on('release.failed', ({ key, cause }) => {
    logger.warn(
      `${klock.name}: the release of ${formatKey(key)} was not answered in time and goes on: ${quote(cause)}`,
    );
  });
  klock.on('lock.long-held', ({ key, heldMs }) => {
    logger.warn(`${klock.name}: lock ${formatKey(key)} has been held for ${Math.round(heldMs)} ms`);
  });
  klock.on('lease.jeopardy', ({ locks, remainingMs }) => {
    logger.warn(
      `${klock.name}: a renewal failed; ${locks} locks are held for ${Math.round(remainingMs)} ms more`,
    );
  });
  klock.on('store.unavailable', ({ cause }) =>
    logger.error(`${klock.name}: the lock store does not answer: ${quote(cause)}`),
  );
  klock.on('store.available', () => logger.log(`${klock.name}: the lock store answers again`));
  klock.on('warning', ({ code, message }) => logger.warn(`${klock.name}: ${code}: ${message}`));
}
