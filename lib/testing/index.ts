export * from './contract/index.js';
export * from './history/index.js';
export { FakeClock, settle } from '../core/index.js';
