import { optionError } from '../core/index.js';
import type { ResolvedClientOptions } from './client-options.js';

/** The lease asked of the server for a rung of the ladder. */
export function sessionLeaseFor(options: ResolvedClientOptions, ttlMs: number, rungMs: number): number {
  const { sessionLeaseMs, leaseBufferMs } = options;
  if (rungMs === ttlMs && sessionLeaseMs !== undefined) return sessionLeaseMs;
  return rungMs + leaseBufferMs;
}

/** @throws InvalidOptionError for a session that would end before the locks on it. */
export function checkSessionLease({ sessionLeaseMs }: ResolvedClientOptions, ttlMs: number): void {
  if (sessionLeaseMs === undefined || sessionLeaseMs >= ttlMs) return;
  throw optionError('sessionLeaseMs', `at least ttlMs, which is ${ttlMs}`, sessionLeaseMs);
}
