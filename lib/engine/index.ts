export * from './commands.js';
export { Engine, type EngineStats } from './engine.js';
export {
  DETACHED_KEEP_MS,
  FENCE_BLOCK,
  MAX_CALLS_PER_REQUEST,
  MAX_KEPT_KEYS,
  MAX_REPORTED,
  REMEMBERED_REQUESTS,
  REMEMBERED_SESSIONS,
  REMEMBER_MS,
  REMEMBER_SESSION_MS,
} from './engine-options.js';
export { LockTable, type LockTableOptions } from './lock-table.js';
export { render } from './render.js';
export { TableEntry, type Stage } from './table-entry.js';
export { TwoLevelLock, type Unlock } from './two-level-lock.js';
