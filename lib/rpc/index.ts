export type { Codec } from './codec.js';
export * from './codes.js';
export * from './durations.js';
export * from './gen/lock.js';
export * from './protocol.js';
export * from './status-text.js';
export { MalformedMessageError } from './wire-reader.js';
