export { KlockTestingModule, type TestingBuilder } from './klock-testing.module.js';
export { TestKlock, type TestKlockOptions } from '../testing/index.js';
