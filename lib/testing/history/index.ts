export { checkHistory, type CheckOptions } from './check-history.js';
export {
  HistoryRecorder,
  type GrantRecord,
  type History,
  type Violation,
  type WriteRecord,
} from './history.js';
export { recordLocks } from './record-locks.js';
