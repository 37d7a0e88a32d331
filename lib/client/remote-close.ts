import { pause, type Clock, type Random } from '../core/index.js';
import { backoffMs, mayReleaseAgain, RETRY_BACKOFF, verdictOf } from '../session/index.js';
import type { LockService, SessionRef } from './lock-service.js';

/** What one farewell may take, whatever its caller's patience (WK-28). */
const CLOSE_BUDGET_MS = 2_000;
/** Farewells owed at most: the leases of older ones have long run out. */
const MAX_OWED = 64;

/**
 * Ends sessions on the server. One farewell per session at a time, shared by everybody who wants it; one that was not
 * answered is owed, and made again when asked.
 */
export class RemoteCloses {
  private readonly running = new Map<string, Promise<boolean>>();
  private readonly owed = new Map<string, SessionRef>();
  /** Wakes every farewell that pauses; set apart from `running`, which callers share. */
  private readonly pausing = new Set<() => void>();
  private cut = false;

  constructor(
    private readonly service: LockService,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** Whether the server knows that the session is over. Never rejects. */
  close(session: SessionRef): Promise<boolean> {
    const running = this.running.get(session.sessionId);
    if (running !== undefined) return running;
    this.owe(session);
    const started = this.tell(session).finally(() => this.running.delete(session.sessionId));
    this.running.set(session.sessionId, started);
    return started;
  }

  /** Farewells the server has not answered. */
  get owing(): number {
    return this.owed.size;
  }

  /** Nobody waits any more: no farewell is tried again until {@link settle}, so that a closed client holds no process. */
  cutShort(): void {
    this.cut = true;
    for (const wake of [...this.pausing]) wake();
  }

  /** Makes every farewell that is owed; one under way that comes to nothing is made again. */
  async settle(): Promise<void> {
    this.cut = false;
    await Promise.all([...this.owed.values()].map((session) => this.settleOne(session)));
  }

  private async settleOne(session: SessionRef): Promise<void> {
    const told = await this.running.get(session.sessionId);
    if (told !== true) await this.close(session);
  }

  private owe(session: SessionRef): void {
    this.owed.set(session.sessionId, session);
    const [oldest] = this.owed.keys();
    if (this.owed.size > MAX_OWED && oldest !== undefined) this.owed.delete(oldest);
  }

  private async tell(session: SessionRef): Promise<boolean> {
    const endMs = this.clock.monoMs() + CLOSE_BUDGET_MS;
    for (let failures = 1; ; failures++) {
      const leftMs = endMs - this.clock.monoMs();
      if (leftMs <= 0 || this.cut) return false;
      const outcome = await this.service.closeSession(session, leftMs);
      // Any answer of the server will do: closed, gone, unknown, or another server altogether.
      if (outcome.kind === 'answered' || !mayReleaseAgain(verdictOf(outcome))) {
        this.owed.delete(session.sessionId);
        return true;
      }
      if (this.cut) return false;
      await pause(this.clock, backoffMs(RETRY_BACKOFF, failures, this.random.fraction()), (wake) => {
        this.pausing.add(wake);
        return () => void this.pausing.delete(wake);
      });
    }
  }
}
