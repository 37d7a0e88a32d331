import { murlockContender } from './murlock-client.js';

/** The pause that passed a contended key on fastest; see docs/internals/benchmarks.md. */
export const contender = murlockContender('@MurLock, best settings', {
  wait: 1,
  maxAttempts: 1_000_000,
  flatWait: true,
});
