import { nestRedlockContender } from './nest-redlock-client.js';
import { REDLOCK_BEST } from './redlock-settings.js';

export const contender = nestRedlockContender('@Redlock (nest-redlock), best settings', REDLOCK_BEST);
