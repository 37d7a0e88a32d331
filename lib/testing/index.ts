export * from './contract/index.js';
export * from './history/index.js';
export * from './simulation/index.js';
export { FakeClock, settle } from '../core/index.js';
export { TestKlock, type TestKlockOptions } from './test-klock.js';
export type { DroppedCall } from './test-klock-driver.js';
