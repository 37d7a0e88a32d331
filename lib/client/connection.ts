import { ClosedError, type Clock, type Random, type Timer } from '../core/index.js';
import { backoffMs, type BackoffRule } from '../session/index.js';
import type { Target } from './client-options.js';
import { Link, type LinkListener, type LinkSettings } from './link.js';

/** Calls that go unanswered for this long with nothing else heard speak for a dead connection, not for a slow one. */
const SILENCE_MS = 1_000;
const FIRST_BACKOFF_MS = 50;
/** Longest pause between two attempts to connect: far below a lease, or a server that is back is met too late (case B-028). */
const LONGEST_BACKOFF_MS = 1_000;

export interface ConnectionSettings extends LinkSettings {
  readonly targets: readonly [Target, ...Target[]];
  /** The instance's ttl: reconnecting must be well within a third of it. */
  readonly ttlMs: number;
}

export type StateListener = (state: 'available' | 'unavailable', cause?: unknown) => void;

interface Waiter {
  ready(link: Link): void;
  failed(cause: unknown): void;
}

/**
 * The way to the server: at most one link at a time, made when someone needs it, replaced when it breaks or falls silent.
 * Addresses are tried in turn; the one that worked last is tried first.
 */
export class Connection implements LinkListener {
  private link: Link | undefined = undefined;
  private closed = false;
  private linksMade = 0;
  private targetIndex = 0;
  /** Addresses that failed since the last one that worked or the last pause. */
  private failedTargets = 0;
  /** Rounds over all addresses that failed in a row. */
  private failedRounds = 0;
  private pause: Timer | undefined = undefined;
  private readonly waiters = new Set<Waiter>();
  private readonly backoff: BackoffRule;

  constructor(
    private readonly settings: ConnectionSettings,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly told: StateListener,
  ) {
    const longestMs = Math.max(FIRST_BACKOFF_MS, Math.min(LONGEST_BACKOFF_MS, settings.ttlMs / 6));
    this.backoff = { firstMs: FIRST_BACKOFF_MS, longestMs };
  }

  /** The link if one is up. */
  get current(): Link | undefined {
    return this.link?.isReady === true ? this.link : undefined;
  }

  /** A link that is up. Rejects when a round over all addresses has failed, after `timeoutMs`, or when closed. */
  ready(timeoutMs: number): Link | Promise<Link> {
    if (this.closed) return Promise.reject(closedError());
    return this.current ?? this.wait(timeoutMs);
  }

  /** A call on this link was given up unanswered. */
  unanswered(link: Link, sentAtMs: number): void {
    if (link.heardAtMs > sentAtMs) return;
    const before = link.silentSinceMs;
    link.silentSinceMs = before !== undefined && before > link.heardAtMs ? before : sentAtMs;
    const silentMs = this.clock.monoMs() - link.silentSinceMs;
    if (silentMs >= SILENCE_MS)
      link.declareDead(new Error(`${link.target.text} was silent for ${Math.round(silentMs)} ms`));
  }

  /** Ends the link; calls under way end as unavailable. A later call connects again. */
  hangUp(): void {
    this.pause?.cancel();
    this.pause = undefined;
    this.link?.drop();
    this.link = undefined;
    this.fail(closedError());
  }

  /** Ends the link for good. */
  close(): void {
    this.closed = true;
    this.hangUp();
  }

  linkReady(link: Link): void {
    this.failedTargets = 0;
    this.failedRounds = 0;
    this.told('available');
    for (const waiter of [...this.waiters]) waiter.ready(link);
  }

  linkOver(link: Link, cause: unknown): void {
    if (this.link !== link) return;
    this.link = undefined;
    if (link.wasReady) return this.rest();
    this.targetIndex = (this.targetIndex + 1) % this.settings.targets.length;
    this.failedTargets++;
    if (this.failedTargets < this.settings.targets.length) return this.connect();
    this.failedTargets = 0;
    this.failedRounds++;
    this.told('unavailable', cause);
    this.rest();
    this.fail(cause);
  }

  private wait(timeoutMs: number): Promise<Link> {
    return new Promise((resolve, reject) => {
      const timer = this.clock.after(
        timeoutMs,
        () => failed(new Error(`no connection within ${timeoutMs} ms`)),
        {
          keepAlive: true,
        },
      );
      const waiter: Waiter = {
        ready: (link) => settle(() => resolve(link)),
        failed: (cause) => failed(cause),
      };
      const settle = (answer: () => void): void => {
        timer.cancel();
        this.waiters.delete(waiter);
        answer();
      };
      const failed = (cause: unknown): void => {
        settle(() => reject(isError(cause) ? cause : new Error(String(cause))));
      };
      this.waiters.add(waiter);
      this.connect();
    });
  }

  private connect(): void {
    if (this.closed || this.link !== undefined || this.pause !== undefined) return;
    const target = this.settings.targets[this.targetIndex] ?? this.settings.targets[0];
    this.link = new Link(++this.linksMade, target, this.settings, this.clock, this);
  }

  /** Nobody connects before this pause is over: clients that lost one server together must not come back together. */
  private rest(): void {
    const pauseMs = backoffMs(this.backoff, Math.max(1, this.failedRounds), this.random.fraction());
    this.pause = this.clock.after(
      pauseMs,
      () => {
        this.pause = undefined;
        if (this.waiters.size > 0) this.connect();
      },
      { keepAlive: true },
    );
  }

  private fail(cause: unknown): void {
    for (const waiter of [...this.waiters]) waiter.failed(cause);
  }
}

/** By its shape: errors of the runtime may come from another realm. */
function isError(cause: unknown): cause is Error {
  return typeof cause === 'object' && cause !== null && 'message' in cause;
}

function closedError(): ClosedError {
  return new ClosedError('the connection to the lock server is closed');
}
