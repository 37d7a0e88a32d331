import type { Clock, Timer } from '../core/index.js';
import type { SessionEndReason } from '../engine/index.js';
import type { EngineHost } from './engine-host.js';
import type { WatchBook } from './watch-book.js';

const REASON: SessionEndReason = 'server_restarting';

export interface DrainParts {
  readonly host: EngineHost;
  readonly book: WatchBook;
  readonly clock: Clock;
  /** Whether a session belongs to this very process: its holders hear of its end before anything else happens. */
  readonly isLocal: (sessionId: string) => boolean;
}

/**
 * The end of a server, in the order that leaves no two holders: nothing is granted any more; waiters are refused;
 * holders are told; then clients may close their sessions or let their leases run out, up to a limit; what is left is ended.
 */
export class Drain {
  /** From now on nothing new is taken. */
  begun = false;
  private cutOff = 0;
  private limit: Timer | undefined = undefined;
  private limitAtMs = Infinity;
  private readonly done: Promise<number>;
  private finish!: (cutOff: number) => void;

  constructor(private readonly parts: DrainParts) {
    this.done = new Promise((resolve) => (this.finish = resolve));
  }

  /**
   * Begins, or with a nearer limit hurries, the drain.
   * @returns sessions of other processes whose lease had not run out at the end: their clients may still believe to hold.
   */
  run(limitMs: number): Promise<number> {
    if (!this.begun) this.begin();
    this.setLimit(limitMs);
    this.lookWhetherEmpty();
    return this.done;
  }

  private begin(): void {
    const { host, book } = this.parts;
    this.begun = true;
    host.apply({ type: 'drain' });
    book.announceAll(REASON);
    for (const sessionId of host.sessions) host.onSessionEnd(sessionId, () => this.lookWhetherEmpty());
  }

  private setLimit(limitMs: number): void {
    const atMs = this.parts.clock.monoMs() + limitMs;
    if (atMs >= this.limitAtMs) return;
    this.limit?.cancel();
    this.limitAtMs = atMs;
    this.limit = this.parts.clock.after(limitMs, () => this.endTheRest(), { keepAlive: true });
  }

  private endTheRest(): void {
    const { host, isLocal } = this.parts;
    // What has run out by now was not cut off.
    host.apply({ type: 'wake' });
    for (const sessionId of [...host.sessions]) {
      if (!isLocal(sessionId)) this.cutOff += 1;
      host.apply({ type: 'close-session', sessionId, reason: REASON });
    }
    this.lookWhetherEmpty();
  }

  private lookWhetherEmpty(): void {
    if (this.parts.host.sessions.size > 0) return;
    this.limit?.cancel();
    this.finish(this.cutOff);
  }
}
