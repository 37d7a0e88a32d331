import type { Clock, Instant } from './clock.js';
import type { LossReason } from './errors.js';
import type { LockKey } from './lock-key.js';
import type { HolderPage, LockReport, PageOptions } from './lock-report.js';
import type { Random } from './random.js';
import type { RevokeOptions, RevokeReport } from './revoke.js';

/** What a back end can promise. The contract suite proves it and prints the table of the docs. */
export interface Capabilities {
  /** `durable`: fences rise across restarts of the store; `process`: while this process lives. */
  readonly fence: 'durable' | 'process';
  /** Waiters of one key are granted in arrival order. */
  readonly fair: boolean;
  /** `push`: a release wakes the next waiter; `poll`: the waiter asks again. */
  readonly wakeUp: 'push' | 'poll';
  /** L1 and L2 exclude each other as design.md says. */
  readonly hierarchy: boolean;
  /** `ttl`: extend may set any ttl; `renew`: extend moves the end by the lease's own length, or shortens the handle's ttl. */
  readonly extend: 'ttl' | 'renew';
  /** What a lease groups: all grants of a session, or one grant. */
  readonly lease: 'session' | 'grant';
  /** Lease lengths must be a multiple of this many milliseconds. */
  readonly leaseUnitMs: number;
  /** `anyone`: a token releases from any process; `session`: from the client that acquired. */
  readonly byToken: 'anyone' | 'session';
  /** `all`: inspect names holders and waiters of everybody; `none`: the store cannot be asked. */
  readonly inspect: 'all' | 'none';
  /** Whether `atLeastMs` is supported. */
  readonly atLeast: boolean;
  /** Whether an operator can end a grant by its key. */
  readonly revoke: boolean;
  /** Held locks survive a restart of the store. */
  readonly survivesRestart: boolean;
}

/** The terms on which a store promised not to end a session or grant by itself. */
export interface LeaseTerms {
  /** Session id, or the grant's own id where leases are per grant. */
  readonly id: string;
  /** Length asked for. */
  readonly askedMs: number;
  /** Length the store granted; the shorter of the two rules. */
  readonly grantedMs: number;
  /** Both clocks, read before the request that opened the lease was handed to the client library (design D2). */
  readonly sentAt: Instant;
  /** Length the margin is taken of, where `grantedMs` is only what is left of a lease (a repeated acquire). Default min(asked, granted). */
  readonly fullMs?: number;
  /** Whether the keeper renews it. Default true. */
  readonly renewed?: boolean;
  /** Renew this often instead of every third of the lease. */
  readonly renewEveryMs?: number;
}

/** A lease under the keeper's care. */
export interface KeptLease {
  readonly id: string;
  /** min(asked, granted). */
  readonly ms: number;
  /** Until when the store is known to keep its promise, margin taken off. A later reply never revives a lease past it. */
  readonly deadline: Instant;
  /** False once the deadline has passed, read now, or the lease was ended. */
  readonly alive: boolean;
  /** The same by a reading of both clocks made in this very turn. */
  aliveAt(now: Instant): boolean;
  /** Grants that rest on it. */
  readonly grants: number;
  /** A renewal or extension of it is unanswered. */
  readonly busy: boolean;
  /** Stops renewing, without loss: the driver has closed it (it must rest on no grant). */
  close(): void;
}

export type RenewReply =
  | { readonly outcome: 'renewed'; readonly grantedMs: number }
  /** The store says it does not exist: lost at once. */
  | { readonly outcome: 'gone'; readonly reason: LossReason; readonly code: string }
  /** Not answered, or answered with a passing refusal: tried again while time is left. */
  | { readonly outcome: 'failed'; readonly cause: unknown };

/** One acquire, for its whole life (design D4). */
export interface DriverAcquire {
  /** The same for every attempt of this call. */
  readonly requestId: string;
  /** With namespace and prefix applied. */
  readonly key: LockKey;
  readonly ttlMs: number;
  /** 0 asks once and never queues; Infinity waits until aborted. Counted from the call to the driver. */
  readonly waitMs: number;
  readonly attemptMs: number;
  /** False: a lease per grant is opened with `renewed: false`. */
  readonly renew: boolean;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Whether the grant may be passed on inside the process: nothing about it is this caller's alone (design D13). */
  readonly passable?: boolean;
  /** Whether the release will ask to keep the key taken (`keepMs`): a store that turns out not to know that refuses now. */
  readonly keeps?: boolean;
  /** Fences the grant shall cover, for passing it on. Default 1. */
  readonly span?: number;
  /** Both clocks as read in the turn of the call, so that a driver that decides at once reads them no second time. */
  readonly askedAt?: Instant;
  /** Ends the wait; the driver takes the request back (cancel) and rejects with LockAbortedError. */
  readonly signal?: AbortSignal;
  /**
   * Takes the answer of a driver that answered {@link LATER}: this or `fail`, once, after `acquire` has returned and in the
   * turn in which the store's answer is read. Spares a promise, and its turns, in each layer between a store and the caller.
   */
  settle?(reply: DriverGrant | DriverBusy): void;
  /** What `acquire` would have rejected with. */
  fail?(error: unknown): void;
}

/** What a driver answers that tells whoever asked itself; only where it was given the means. */
export const LATER = Symbol('later');
export type Later = typeof LATER;

/** The store's decision that this client now holds. */
export interface DriverGrant {
  readonly granted: true;
  readonly requestId: string;
  readonly key: LockKey;
  readonly token: string;
  /** The base fence; the grant covers fence … fence + span − 1 (design D13). */
  readonly fence: bigint;
  readonly span: number;
  readonly lease: KeptLease;
  /** Both clocks as read in this very turn, where nothing but the decision itself lay between: the grant is judged by it. */
  readonly decidedAt?: Instant;
  /** The token was shown to someone: from now on the grant is never passed on. */
  pin?(): void;
  /** Why it ended before the front end had read it. Written by `host.endGrant`. */
  ended?: GrantEnd | undefined;
}

/** Why the store ended a grant. */
export interface GrantEnd {
  readonly reason: LossReason;
  readonly code: string;
}

/** A definite no: busy until `waitMs` was over. Nothing is left behind. */
export interface DriverBusy {
  readonly granted: false;
  /** Who holds, where the store could tell. */
  readonly holder?: string;
  /** The request id stands for a grant that has ended: the front end asks again under a new one while `waitMs` lasts. */
  readonly conflict?: true;
}

export interface DriverHealth {
  readonly state: 'ok' | 'unreachable' | 'draining' | 'quarantined' | 'misconfigured';
  /** Round trip in milliseconds, where one was made. */
  readonly tookMs?: number;
  readonly detail?: string;
}

/** What the front end offers a driver. */
export interface DriverHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: DriverSettings;
  /** Puts a lease under the keeper's care: renewed from now on, waiting included, until closed, ended or lost. */
  openLease(terms: LeaseTerms): KeptLease;
  /** The store, or the driver's own rules, ended the lease: every grant on it is lost, synchronously, in this call. */
  endLease(lease: KeptLease, reason: LossReason, code: string, facts?: ServerChange): void;
  /** One grant ended (revoked, evicted). */
  endGrant(grant: DriverGrant, reason: LossReason, code: string): void;
  /** A grant was passed on inside the process instead of going back to the store. */
  handedOver(key: LockKey): void;
  /** The store stopped or started answering. Told once per change. */
  storeState(state: 'available' | 'unavailable', cause?: unknown): void;
  /** Something a person should know; never thrown from the background. */
  warn(code: string, message: string, cause?: unknown): void;
}

export interface ServerChange {
  readonly oldServer?: string;
  readonly newServer?: string;
}

/** The instance's options as far as drivers need them. */
export interface DriverSettings {
  readonly ttlMs: number;
  readonly clientName: string | undefined;
  readonly renewEveryMs: number | undefined;
  readonly renewTimeoutMs: number | undefined;
  readonly releaseTimeoutMs: number;
  readonly marginMs: (leaseMs: number) => number;
  readonly handover: boolean;
}

/**
 * One back end. Attached to exactly one front end; all members but `name` and `capabilities` need `attach` first.
 * Members may answer synchronously: the in-process path then costs no extra turn.
 */
export interface LockDriver {
  /** `memory`, `klock`, `redis`, `etcd`, or a name of your own. */
  readonly name: string;
  /** Identifies the store among all stores of this process: two drivers of one store give the same text. Goes into `Klock-Fence`. */
  readonly store: string;
  readonly capabilities: Capabilities;
  attach(host: DriverHost): void;
  /**
   * Resolves when the store answers.
   * @throws LockUnavailableError within `timeoutMs`, BackendStateError for a permanent refusal.
   */
  ready(timeoutMs: number): Promise<void>;
  /** Never rejects. */
  health(): Promise<DriverHealth>;
  /**
   * Waits for a grant. Resolves with a definite answer only; an uncertain one is resolved first (design D4).
   * @throws LockAbortedError, LockUnavailableError, BackendStateError, ClosedError, InvalidOptionError (ttl the store cannot give).
   */
  acquire(request: DriverAcquire): DriverGrant | DriverBusy | Promise<DriverGrant | DriverBusy> | Later;
  /**
   * Ends every acquire that waits, as its own signal would: the instance is closing. A driver without it gets a signal
   * with each request instead, which costs a listener for each wait.
   */
  abortWaits?(reason: unknown): void;
  /**
   * Gives a grant back, asking again until the store answered or the lease is over. Never rejects; settles when the
   * outcome is definite, which may be long after the front end's own `releaseTimeoutMs`.
   */
  release(
    grant: DriverGrant,
    options?: { readonly keepMs?: number },
    /** Both clocks as read in the turn of the call. */
    now?: Instant,
    /** Takes the outcome of a driver that answers {@link LATER}: once, after `release` has returned. */
    reader?: ReleaseReader,
  ): DefiniteRelease | Promise<DefiniteRelease> | Later;
  /** Renews leases, all with one deadline of `timeoutMs`; one answer for each, in order. Never rejects. */
  renew(leases: readonly KeptLease[], timeoutMs: number): Promise<readonly RenewReply[]>;
  /** Only with capability `extend: 'ttl'`. */
  extend?(grant: DriverGrant, ttlMs: number, timeoutMs: number): Promise<RenewReply>;
  /** The keeper lost this lease: drop what rests on it and tell the store in the background. */
  abandon(lease: KeptLease, code: string): void;
  inspect(key: LockKey): Promise<LockReport>;
  /** @throws LockNotHeldError, InvalidTokenError, LockUnavailableError */
  releaseToken(key: LockKey, token: string): Promise<void>;
  /** @throws LockNotHeldError, InvalidTokenError, InvalidOptionError, LockUnavailableError */
  extendToken(key: LockKey, token: string, ttlMs: number): Promise<void>;
  /**
   * Only with capability `revoke: true`: ends what is held of a key, whoever holds it, and says what that was. The holder's
   * client is told, at its next renewal at the latest; `host.endGrant(..., 'revoked', 'REVOKED')` in one's own process.
   * @throws LockUnavailableError, BackendStateError
   */
  revoke?(key: LockKey, options: RevokeOptions): Promise<RevokeReport>;
  /** Who holds anything at all, in pages, where the store can tell. @throws LockUnavailableError, BackendStateError */
  holders?(page: PageOptions): Promise<HolderPage>;
  /** Waits for and gives up what is left within `timeoutMs`; repeatable. Never rejects; false: something could not be told to the store. */
  close(timeoutMs: number): Promise<boolean>;
}

/** Whoever is told the store's word on a release, in the turn in which it is read. */
export interface ReleaseReader {
  givenBack(outcome: DefiniteRelease): void;
}

export type DefiniteRelease = 'released' | 'already-released' | 'lost';
