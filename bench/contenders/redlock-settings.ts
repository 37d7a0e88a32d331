/** Waits as long as the benchmark does, with the pauses a caller gets who sets nothing else. */
export const REDLOCK_DEFAULTS = { retryCount: 1_000_000, retryDelay: 200, retryJitter: 100 };

/** The settings that passed a contended key on fastest; see docs/internals/benchmarks.md. */
export const REDLOCK_BEST = { retryCount: 1_000_000, retryDelay: 5, retryJitter: 5 };

export type RedlockSettings = typeof REDLOCK_DEFAULTS;
