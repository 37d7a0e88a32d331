export { klockDriver, type KlockDriverOptions } from '../drivers/klock/index.js';
