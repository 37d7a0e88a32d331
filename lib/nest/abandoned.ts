import type { Logger } from '@nestjs/common';
import type { Klock, LockKey } from '../core/index.js';
import { formatKey } from '../core/index.js';

/** More names than this say nothing more. */
const MAX_NAMED = 10;

interface Abandoned {
  readonly key: LockKey;
  readonly heldMs: number;
}

/**
 * Collects the locks that a shutdown takes from code that still holds them.
 * @returns writes them to the log, one line for all; call it when the instance has closed.
 */
export function collectAbandoned(klock: Klock, logger: Logger): () => void {
  const abandoned: Abandoned[] = [];
  const listening = klock.on('lock.lost', ({ key, heldMs, reason }) => {
    if (reason === 'closed') abandoned.push({ key, heldMs });
  });
  return () => {
    listening[Symbol.dispose]();
    if (abandoned.length > 0) logger.warn(`${klock.name}: ${reportOf(abandoned)}`);
  };
}

function reportOf(abandoned: readonly Abandoned[]): string {
  const named = abandoned
    .slice(0, MAX_NAMED)
    .map(({ key, heldMs }) => `${formatKey(key)} (for ${Math.round(heldMs)} ms)`);
  const more = abandoned.length > MAX_NAMED ? ` and ${abandoned.length - MAX_NAMED} more` : '';
  const locks = abandoned.length === 1 ? 'lock was' : 'locks were';
  return `the shutdown did not wait any longer; ${abandoned.length} ${locks} taken from work that still held them: ${named.join(', ')}${more}`;
}
