import type { Asker, DriverGrant, GrantEnd, Instant, KeptLease, LockKey } from '../../core/index.js';
import type { Grant, LateAnswer, LocalCall } from '../../engine/index.js';
import type { LocalSession } from './local-session.js';
import type { TokenBook } from './token-book.js';

/** Whoever reads the answers of locks that had to be waited for. */
export interface LocalLocks {
  readonly tokens: TokenBook;
  answered(lock: LocalLock, answer: LateAnswer): void;
}

/** One acquire in this process for its whole life: the call that waits in the store's line, then its grant. */
export class LocalLock implements DriverGrant, LocalCall {
  readonly granted = true;
  place: Grant | undefined = undefined;
  /** Given back, or ended otherwise. */
  over = false;
  ended: GrantEnd | undefined = undefined;
  /** Both clocks as read in the turn of the grant, where somebody has read them. */
  decidedAt: Instant | undefined = undefined;
  /** Who is told once it does not wait any more. */
  asker: Asker | undefined = undefined;
  /** Ends listening to the caller's signal. */
  listening: Disposable | undefined = undefined;
  private shown: string | undefined = undefined;

  constructor(
    readonly key: LockKey,
    readonly session: LocalSession,
    private readonly locks: LocalLocks,
  ) {}

  get grant(): Grant {
    return this.place as Grant;
  }

  get fence(): bigint {
    return this.grant.fence;
  }

  get span(): number {
    return this.grant.span;
  }

  get lease(): KeptLease {
    return this.session.lease;
  }

  /** A call in process is made once and asked for by nobody: what names its grant names it. */
  get requestId(): string {
    return String(this.fence);
  }

  /** Made when somebody looks at it: before that nobody can show it. */
  get token(): string {
    return (this.shown ??= this.locks.tokens.make(this));
  }

  answered(answer: LateAnswer): void {
    this.locks.answered(this, answer);
  }

  end(): void {
    this.over = true;
    if (this.shown !== undefined) this.locks.tokens.forget(this.shown);
  }
}
