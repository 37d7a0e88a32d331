export type { LateAnswer } from '../engine/index.js';
export { LocalStore } from './local-store.js';
export { LockServer, type ServerEnd } from './lock-server.js';
export type { LogSettings } from './log-settings.js';
export { type CounterValues } from './server-counters.js';
export { serverOptionsFromEnv } from './server-env.js';
export { type LogFacts, type LogLevel, type ServerLog, silentLog } from './server-log.js';
export type { RateLimit, RevokeAsked, ServerOptions } from './server-options.js';
export { runServer, type ServerProcess } from './run-server.js';
