export * from './commands.js';
export { Engine, type EngineStats } from './engine.js';
export { LockTable, type LockTableOptions } from './lock-table.js';
export { TableEntry, type Stage } from './table-entry.js';
export { render } from './render.js';
