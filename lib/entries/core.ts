export * from '../core/api.js';
export { MemoryStore, memoryDriver, memoryStore, type LocalStore } from '../drivers/memory/index.js';
export {
  Engine,
  LockTable,
  TableEntry,
  TwoLevelLock,
  type EngineCommand,
  type EngineOptions,
  type Grant,
  type LockTableOptions,
  type Outcome,
  type Unlock,
} from '../engine/index.js';
