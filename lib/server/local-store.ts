import type { Clock, HolderPage, LockKey, LockReport, PageOptions } from '../core/index.js';
import type { Answers, EngineCommand, Grant, LocalCall, SessionEndReason } from '../engine/index.js';
import type { EngineHost } from './engine-host.js';

/**
 * The engine of a lock server for drivers in the same process, without a wire between: what `memoryDriver({ store })`
 * takes. Its locks and those of remote clients exclude each other and share one sequence of fences.
 */
export class LocalStore {
  private readonly own = new Set<string>();
  private readonly revocations = new Map<string, (grant: Grant) => void>();

  constructor(
    /** Names the store, as the server id does on the wire. */
    readonly store: string,
    readonly clock: Clock,
    private readonly host: EngineHost,
    private readonly conditionNow: () => LocalStore['condition'],
  ) {}

  /** Why nothing is granted at the moment. */
  get condition(): 'ok' | 'draining' | 'quarantined' {
    return this.conditionNow();
  }

  /** Sessions opened through this store that live. */
  get sessions(): ReadonlySet<string> {
    return this.own;
  }

  apply<C extends EngineCommand>(command: C): Answers[C['type']] {
    const answer = this.host.apply(command);
    if (command.type === 'open-session') this.note(answer as Answers['open-session']);
    return answer;
  }

  /** Calls `listener` once when the session ends, before its locks are granted to others. */
  onSessionEnd(sessionId: string, listener: (reason: SessionEndReason) => void): Disposable {
    return this.host.onSessionEnd(sessionId, listener);
  }

  /** Calls `listener` with each grant of the session that an operator ends, before its key is free for others. */
  onRevoked(sessionId: string, listener: (grant: Grant) => void): Disposable {
    this.revocations.set(sessionId, listener);
    return { [Symbol.dispose]: () => void this.revocations.delete(sessionId) };
  }

  /** @internal Tells the driver that opened the session. */
  tellRevoked(grant: Grant): void {
    this.revocations.get(grant.sessionId)?.(grant);
  }

  /** Calls of the session that wait for an answer, the longest waiting first. */
  waitingCalls(sessionId: string): readonly LocalCall[] {
    return this.host.waitingCalls(sessionId);
  }

  holders(page: PageOptions): HolderPage {
    return this.host.holders(page);
  }

  inspect(key: LockKey): LockReport {
    return this.host.inspect(key);
  }

  private note(answer: Answers['open-session']): void {
    if (answer.type !== 'session') return;
    this.own.add(answer.sessionId);
    this.host.onSessionEnd(answer.sessionId, () => this.own.delete(answer.sessionId));
  }
}
