import {
  MAX_LOCKS_PER_SESSION,
  MAX_SESSIONS,
  MAX_WAITERS,
  MAX_WAITERS_PER_KEY,
  optionError,
} from '../core/index.js';
import type { EngineOptions } from './commands.js';

/** Fences reserved at once: at 100,000 grants a second one write in 40 seconds. */
export const FENCE_BLOCK = 2n ** 22n;

/** Finished requests remembered per session and kind. */
export const REMEMBERED_REQUESTS = 65_536;

/** How long they are: longer than any client asks again. */
export const REMEMBER_MS = 3_600_000;

/** Ended sessions remembered, so that their owners are told how they ended. */
export const REMEMBERED_SESSIONS = 10_000;

export const REMEMBER_SESSION_MS = 600_000;

/** How long a detached request keeps its arrival number: a client asks again within a fraction of it. */
export const DETACHED_KEEP_MS = 1_000;

/** Keys that stay taken after their release, in all: they belong to no session that could be bounded. */
export const MAX_KEPT_KEYS = 200_000;

/** Calls that may wait for one request at once: a client has one, perhaps two after a reconnect. */
export const MAX_CALLS_PER_REQUEST = 16;

/** Holders and waiters named in one report. */
export const MAX_REPORTED = 100;

export type ResolvedEngineOptions = Required<EngineOptions>;

/** @throws InvalidOptionError naming the option and its value. */
export function resolveEngineOptions(options: EngineOptions): ResolvedEngineOptions {
  if (typeof options.mintToken !== 'function')
    throw optionError('mintToken', 'a function', options.mintToken);
  return {
    lastFence: options.lastFence,
    reservedFence: options.reservedFence,
    mintToken: options.mintToken,
    fenceBlock: options.fenceBlock ?? FENCE_BLOCK,
    maxWaiters: count('maxWaiters', options.maxWaiters, MAX_WAITERS),
    maxWaitersPerKey: count('maxWaitersPerKey', options.maxWaitersPerKey, MAX_WAITERS_PER_KEY),
    maxSessions: count('maxSessions', options.maxSessions, MAX_SESSIONS),
    maxLocksPerSession: count('maxLocksPerSession', options.maxLocksPerSession, MAX_LOCKS_PER_SESSION),
    maxKeptKeys: count('maxKeptKeys', options.maxKeptKeys, MAX_KEPT_KEYS),
    rememberedRequests: count('rememberedRequests', options.rememberedRequests, REMEMBERED_REQUESTS),
    rememberMs: age('rememberMs', options.rememberMs, REMEMBER_MS),
    rememberedSessions: count('rememberedSessions', options.rememberedSessions, REMEMBERED_SESSIONS),
    rememberSessionMs: age('rememberSessionMs', options.rememberSessionMs, REMEMBER_SESSION_MS),
  };
}

function count(option: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw optionError(option, 'a whole number, 0 or more', value);
}

function age(option: string, value: number | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (Number.isFinite(value)) return value;
  throw optionError(option, 'a finite number of milliseconds', value);
}
