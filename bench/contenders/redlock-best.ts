import { redlockContender } from './redlock-client.js';
import { REDLOCK_BEST } from './redlock-settings.js';

export const contender = redlockContender('redlock 5, best settings', REDLOCK_BEST);
