export { klockDriver, type KlockDriverOptions } from './klock-driver.js';
