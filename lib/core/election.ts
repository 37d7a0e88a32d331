import { onAbort } from './abort.js';
import type { Clock } from './clock.js';
import { type LockLostError, isLockError } from './errors.js';
import type { LockHandle } from './lock-handle.js';
import { formatKey, type LockKey } from './lock-key.js';
import { checkSignal, optionError, refuseUnknown, type AcquireOptions } from './options.js';
import type { Random } from './random.js';

/** Pause before the first new attempt, and the longest one. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/** One term of office: from the election until the lock is lost or resigned. */
export interface Leadership {
  /** Larger than that of every earlier leader: send it with whatever the leader writes. */
  readonly fence: bigint;
  /** Aborts when the term ends, whichever way; with a LockLostError as its reason after a loss. */
  readonly signal: AbortSignal;
  /** The lock behind it. Releasing it ends the term as a loss of office does: the candidate stands again. */
  readonly lock: LockHandle;
}

export interface ElectionOptions {
  /**
   * Called at the begin of each term. The term does not end when it returns; if it throws or rejects the office is
   * given back, a `warning` event tells, and the candidate stands again after a pause.
   */
  readonly onElected: (leadership: Leadership) => PromiseLike<void> | void;
  /** Called once for each term that ends without a resignation, after `signal` has aborted. */
  readonly onLost?: (loss: LockLostError) => PromiseLike<void> | void;
  /** Length of the lease behind the office. Default: the instance's. */
  readonly ttlMs?: number;
  /** Shown by `inspect`. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Resigns when it aborts. */
  readonly signal?: AbortSignal;
}

/** A standing candidacy. Disposing it resigns. */
export interface Election extends AsyncDisposable {
  readonly key: LockKey;
  /** Read now, on both clocks: whether this candidate holds the office. */
  readonly isLeader: boolean;
  /** The term under way. */
  readonly leadership: Leadership | undefined;
  /** Gives the office back, if held, and stands no more. Repeatable; never rejects. */
  resign(): Promise<void>;
  /** Resolves when the candidacy is over: resigned, or the instance closed. Never rejects. */
  readonly ended: Promise<void>;
}

/** What an election asks of the instance. */
export interface ElectionHost {
  readonly clock: Clock;
  readonly random: Random;
  acquire(key: LockKey, options: AcquireOptions): Promise<LockHandle>;
  warn(code: string, message: string, cause?: unknown): void;
}

const KNOWN = ['onElected', 'onLost', 'ttlMs', 'metadata', 'signal'];

/** Checks the options of a candidacy. @throws InvalidOptionError naming the option and the value. */
export function checkElection(options: ElectionOptions): ElectionOptions {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('elect', options, KNOWN);
  const { onElected, onLost, signal } = options as Partial<ElectionOptions>;
  if (typeof onElected !== 'function') throw optionError('onElected', 'a function', onElected);
  if (onLost !== undefined && typeof onLost !== 'function') throw optionError('onLost', 'a function', onLost);
  if (signal !== undefined) checkSignal('signal', signal);
  return options;
}

/** Stands for an office until it resigns or its instance closes: a lock, waited for again after each loss. */
export class Candidacy implements Election {
  readonly ended: Promise<void>;
  private readonly giveUp = new AbortController();
  private term: Term | undefined = undefined;
  private failures = 0;
  private wakeUp: (() => void) | undefined = undefined;

  constructor(
    private readonly host: ElectionHost,
    readonly key: LockKey,
    private readonly options: ElectionOptions,
  ) {
    const aborting = onAbort(options.signal, () => void this.resign());
    this.ended = this.stand().finally(() => aborting[Symbol.dispose]());
  }

  get isLeader(): boolean {
    return this.term?.lock.held === true;
  }

  get leadership(): Leadership | undefined {
    return this.isLeader ? this.term : undefined;
  }

  async resign(): Promise<void> {
    this.giveUp.abort();
    this.wakeUp?.();
    await this.term?.resign();
    await this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resign();
  }

  private get resigned(): boolean {
    return this.giveUp.signal.aborted;
  }

  private async stand(): Promise<void> {
    while (!this.resigned) {
      const lock = await this.win();
      if (lock === 'over') return;
      if (lock !== undefined && (await this.serve(lock)) === 'over') return;
      if (!this.resigned) await this.pause();
    }
  }

  /** The office, as a lock; undefined: not this time. */
  private async win(): Promise<LockHandle | 'over' | undefined> {
    const { ttlMs, metadata } = this.options;
    try {
      const lock = await this.host.acquire(this.key, {
        waitMs: Infinity,
        signal: this.giveUp.signal,
        ...(ttlMs === undefined ? undefined : { ttlMs }),
        ...(metadata === undefined ? undefined : { metadata }),
      });
      // Checked again after the await: nobody takes office who has resigned meanwhile.
      if (!this.resigned) return lock;
      await lock.release();
      return 'over';
    } catch (error) {
      if (this.resigned || isOver(error)) return 'over';
      // Told once, not at every attempt while the store is away.
      if (++this.failures === 1)
        this.warn('ELECTION_FAILED', 'could not be stood for; it is tried again', error);
      return undefined;
    }
  }

  private async serve(lock: LockHandle): Promise<'over' | undefined> {
    const startMs = this.host.clock.monoMs();
    const term = (this.term = new Term(lock));
    const work = this.tell(() => this.options.onElected(term)).then(async (failed) => {
      if (!failed) return;
      this.failures++;
      await term.resign();
    });
    const end = await lock.done;
    if (end.end === 'released') await work.catch(() => undefined);
    this.term = undefined;
    if (this.host.clock.monoMs() - startMs > MAX_PAUSE_MS) this.failures = 0;
    if (end.end === 'released') return undefined;
    const loss = term.lost();
    await this.tell(() => this.options.onLost?.(loss));
    return end.reason === 'closed' ? 'over' : undefined;
  }

  /** Runs a listener; true if it failed, which is told and disturbs nothing else. */
  private async tell(listener: () => PromiseLike<void> | void): Promise<boolean> {
    try {
      await listener();
      return false;
    } catch (error) {
      this.warn('ELECTION_LISTENER_FAILED', 'has a listener that failed', error);
      return true;
    }
  }

  private warn(code: string, what: string, cause: unknown): void {
    this.host.warn(code, `the election for ${formatKey(this.key)} ${what}`, cause);
  }

  private pause(): Promise<void> {
    const { clock, random } = this.host;
    const upToMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(this.failures, 10));
    return new Promise((resolve) => {
      const timer = clock.after(upToMs * (0.5 + random.fraction() / 2), resolve);
      this.wakeUp = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}

class Term implements Leadership {
  private readonly end = new AbortController();

  constructor(readonly lock: LockHandle) {
    onAbort(lock.signal, (reason) => this.end.abort(reason));
    void lock.done.then(() => this.end.abort());
  }

  get fence(): bigint {
    return this.lock.fence;
  }

  get signal(): AbortSignal {
    return this.end.signal;
  }

  async resign(): Promise<void> {
    this.end.abort();
    await this.lock.release();
  }

  lost(): LockLostError {
    return this.lock.signal.reason as LockLostError;
  }
}

function isOver(error: unknown): boolean {
  return (
    isLockError(error, 'CLOSED') || isLockError(error, 'INVALID_OPTION') || isLockError(error, 'INVALID_KEY')
  );
}
