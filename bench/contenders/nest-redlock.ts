import { nestRedlockContender } from './nest-redlock-client.js';
import { REDLOCK_DEFAULTS } from './redlock-settings.js';

export const contender = nestRedlockContender('@Redlock (nest-redlock)', REDLOCK_DEFAULTS);
