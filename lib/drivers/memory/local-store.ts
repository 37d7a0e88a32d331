import type { Clock, HolderPage, LockKey, LockReport, PageOptions } from '../../core/index.js';
import type { Answers, EngineCommand, Grant, LocalCall, SessionEndReason } from '../../engine/index.js';

/**
 * An engine in this process as drivers use it: whoever owns the engine applies its effects, keeps its one timer,
 * and hands the answers of waiting calls to those who asked, each a `LocalCall`. The lock server hosted in an application offers one too.
 */
export interface LocalStore {
  /** Names the store; see `LockDriver.store`. */
  readonly store: string;
  /** The engine's time is this clock's monotonic time. */
  readonly clock: Clock;
  /**
   * Decides one command now; effects for others are carried out before it returns.
   * @param nowMs this store's clock as read in the turn of the call, so that it is read no second time.
   */
  apply<C extends EngineCommand>(command: C, nowMs?: number): Answers[C['type']];
  /** Calls `listener` once when the session ends, before its locks are freed for others. */
  onSessionEnd(sessionId: string, listener: (reason: SessionEndReason) => void): Disposable;
  /** Calls `listener` with each grant of the session that an operator ends, before its key is free for others. */
  onRevoked(sessionId: string, listener: (grant: Grant) => void): Disposable;
  /** Calls of the session that wait for an answer, the longest waiting first. */
  waitingCalls(sessionId: string): readonly LocalCall[];
  inspect(key: LockKey): LockReport;
  holders(page: PageOptions): HolderPage;
  /** Why nothing is granted at the moment, for health. */
  readonly condition: 'ok' | 'draining' | 'quarantined';
}
