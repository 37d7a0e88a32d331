// api.ts is what users of the package see; the rest is for klock's own folders.
export * from './api.js';
export { givenInstance, type GivenInstance } from './given-instance.js';
export { INSTANCE_OVERRIDE } from './tokens.js';
