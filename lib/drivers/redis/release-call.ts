import {
  LockUnavailableError,
  type DefiniteRelease,
  type LockErrorFacts,
  type LockKey,
  type LockOperation,
  type ReleaseReader,
} from '../../core/index.js';
import type { Answer } from './answer.js';
import { readRelease, type Operation, type ReleaseResult, type Sending } from './operations.js';
import { backoffMs } from './pause.js';
import type { RedisSession } from './redis-session.js';
import type { Sendings } from './sendings.js';

/** One asking of a release may take this long; then it is asked again. */
const ASK_MS = 2_000;
/** Asked for this much longer than what is given back can last in Redis, for the clocks of both sides. */
const EXTRA_MS = 1_000;

/** What is given or taken back. */
export interface Returned {
  readonly key: LockKey;
  readonly tree: string;
  readonly l2: string;
  readonly requestId: string;
  readonly token: string;
  /** The longest it can last in Redis from now on by itself. */
  readonly ttlMs: number;
  readonly sendings: Sendings;
}

/**
 * Gives a lock back, or takes a request back, asking again until Redis has answered or the lock has ended by itself.
 * A compare-and-delete of the token: however often and late it is executed, it touches nobody else's lock.
 *
 * One is made for each lock given back, and lives as long as the way to Redis and back: what can be told from what is
 * returned is not kept.
 */
export class ReleaseCall implements Operation<ReleaseResult> {
  private failures = 0;
  /** An earlier asking was not answered. */
  private mayBeDone = false;
  private reader: ReleaseReader | undefined = undefined;

  constructor(
    private readonly session: RedisSession,
    private readonly returned: Returned,
    private readonly operation: LockOperation,
    private readonly keepMs = 0,
    private readonly startMs = session.host.clock.monoMs(),
  ) {}

  get name(): 'release' {
    return 'release';
  }

  get tree(): string {
    return this.returned.tree;
  }

  get l2(): string {
    return this.returned.l2;
  }

  get meta(): string {
    return '';
  }

  get facts(): LockErrorFacts {
    return { key: this.returned.key, operation: this.operation };
  }

  get who(): string {
    const { token, requestId } = this.returned;
    return `${token} ${requestId}`;
  }

  /** Never rejects. */
  run(): Promise<DefiniteRelease> {
    return new Promise((resolve) => this.begin({ givenBack: resolve }));
  }

  /** @param reader takes the outcome, once, later than this returns. */
  begin(reader: ReleaseReader): void {
    this.reader = reader;
    this.ask(this.startMs);
  }

  read(result: readonly unknown[]): ReleaseResult {
    return readRelease(result);
  }

  words({ node }: Sending): string {
    const { link, time } = this.session.calls;
    const goneUntilMs = this.returned.sendings.tombstoneUntilMs(link, time, node);
    return `${this.keepLeftMs()} ${goneUntilMs}`;
  }

  settled(answer: Answer<ReleaseResult>): void {
    if (answer.type === 'answered')
      return this.reader?.givenBack(this.outcomeOf(answer.value, answer.sending));
    this.mayBeDone ||= answer.type === 'unanswered' || isHalfDone(answer);
    if (answer.type === 'refused' && !answer.passing) {
      if (this.failures === 0)
        this.session.host.warn('REDIS_RELEASE_REFUSED', answer.error.message, answer.error);
      // What stands there is no lock of ours any more. A wrong set-up, though, may be put right in time.
      if (answer.error.code === 'BACKEND_STATE') return this.reader?.givenBack('lost');
    }
    const { calls, background, host } = this.session;
    const isHopeless = calls.link.state === 'closed' || background.isStopped;
    if (isHopeless || host.clock.monoMs() >= this.giveUpMs) return this.reader?.givenBack('lost');
    host.clock.after(backoffMs(this.failures++, host.random), () => this.ask(host.clock.monoMs()));
  }

  private ask(nowMs: number): void {
    this.session.calls.send(this, Math.min(nowMs + ASK_MS, this.giveUpMs));
  }

  private get giveUpMs(): number {
    return this.startMs + this.returned.ttlMs + EXTRA_MS;
  }

  /**
   * Not held by this token any more: lost, unless it was asked before, by this call or by a client that sends again what
   * a lost connection left unanswered. Then that one freed it, since the holder had stopped using the lock in time.
   */
  private outcomeOf(result: ReleaseResult, sending: Sending): DefiniteRelease {
    const isRepeated = this.mayBeDone || sending.epoch !== this.session.calls.link.epoch;
    return result === 'released' || isRepeated ? 'released' : 'lost';
  }

  private keepLeftMs(): number {
    if (this.keepMs === 0) return 0;
    return Math.max(0, Math.ceil(this.keepMs - (this.session.host.clock.monoMs() - this.startMs)));
  }
}

/** A slot was on its way to another node: the lock may have been deleted before the script stopped. */
function isHalfDone(answer: Answer<ReleaseResult>): boolean {
  return (
    answer.type === 'refused' &&
    answer.error instanceof LockUnavailableError &&
    answer.error.storeCode === 'TRYAGAIN'
  );
}
