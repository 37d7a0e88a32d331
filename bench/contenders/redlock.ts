import { redlockContender } from './redlock-client.js';
import { REDLOCK_DEFAULTS } from './redlock-settings.js';

export const contender = redlockContender('redlock 5', REDLOCK_DEFAULTS);
