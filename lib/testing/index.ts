export * from './contract/index.js';
export { FakeClock, settle } from '../core/fake-clock.js';
