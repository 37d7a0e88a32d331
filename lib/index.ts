export * from './core/api.js';
export { MemoryStore, memoryDriver, memoryStore, type LocalStore } from './drivers/memory/index.js';
export * from './nest/api.js';
