import { murlockContender } from './murlock-client.js';

/** The settings of its README, which gives up after three attempts. */
export const contender = murlockContender('@MurLock', { wait: 1_000, maxAttempts: 3, flatWait: false });
