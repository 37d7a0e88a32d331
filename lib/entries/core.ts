export * from '../core/index.js';
export { MemoryStore, memoryDriver, memoryStore, type LocalStore } from '../drivers/memory/index.js';
export {
  Engine,
  LockTable,
  type EngineCommand,
  type EngineOptions,
  type Grant,
  type LockTableOptions,
  type Outcome,
} from '../engine/index.js';
