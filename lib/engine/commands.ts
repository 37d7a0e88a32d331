import type { HolderReport, LockKey } from '../core/index.js';

/** Why a session ended. The words `lease_expired`, `client_close` and `server_restarting` travel on the wire (behaviour.md 1.7). */
export type SessionEndReason = 'lease_expired' | 'client_close' | 'server_restarting';

/** Names one call that waits for an answer; chosen by the host, never reused. In one's own process whoever asks names itself. */
export type CallId = number | LocalCall;

/** The answer of a call that had to wait. */
export type LateAnswer = Exclude<AcquireAnswer, { type: 'queued' }>;

/** A call in the host's own process. */
export interface LocalCall {
  /** What the engine knows it by, and its grant once it has one. Written by the engine only. */
  place: Grant | undefined;
  /** For the host: takes the answer that `call-answered` names. The engine never calls it. */
  answered(answer: LateAnswer): void;
}

/** What the engine can be told. Every command is decided in one synchronous step (design D1). */
export type EngineCommand =
  | OpenSession
  | RenewSession
  | CloseSession
  | Acquire
  | DetachCall
  | CancelRequest
  | Release
  | CancelCall
  | ReleaseGrant
  | Revoke
  | Drain
  | FencesReserved
  | HoldGrants
  | Wake;

export interface OpenSession {
  readonly type: 'open-session';
  /** Unpredictable, made by the host. */
  readonly sessionId: string;
  readonly leaseMs: number;
  /** A label for reports. */
  readonly client?: string;
  /** Where the client runs, for reports. */
  readonly host?: string;
  /** The host sees to it that no request or release comes twice: nothing that is over is remembered. Default false. */
  readonly exactlyOnce?: boolean;
  /**
   * The client lives in the host's process: it names a request by its one call (`cancel-call`) and a grant by itself
   * (`release-grant`). No request id is looked up, no token made, nothing that is over remembered. Default false.
   */
  readonly local?: boolean;
}

export interface RenewSession {
  readonly type: 'renew-session';
  readonly sessionId: string;
}

/** Ends a session: its waiters are refused, its end is announced, then its locks are freed. */
export interface CloseSession {
  readonly type: 'close-session';
  readonly sessionId: string;
  readonly reason: SessionEndReason;
}

export interface Acquire {
  readonly type: 'acquire';
  readonly callId: CallId;
  readonly sessionId: string;
  /** The same for every attempt; scoped to the session (design D4). */
  readonly requestId: string;
  readonly key: LockKey;
  /** Absolute, on the engine's clock. Infinity: until the session or the call ends. In the past or now: ask once, never queue. */
  readonly waitUntilMs: number;
  /**
   * How long the request keeps its arrival number after `waitUntilMs` has passed (the answer is `busy` all the same),
   * for the next attempt of the same request. Default 0: its wait is over and so is its place.
   */
  readonly keepPlaceMs?: number;
  /** Fences the grant shall cover, 1 or more; it may cover fewer. Default 1. */
  readonly span?: number;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The call ended without a cancel (its own deadline, its connection): the entry is detached, not removed (design D4). */
export interface DetachCall {
  readonly type: 'detach-call';
  readonly callId: CallId;
  /** How long the entry keeps its arrival number for a repeat of the request. Default 1,000. */
  readonly keepMs?: number;
}

/** The client takes its request back: never to be granted any more, or released if it was. */
export interface CancelRequest {
  readonly type: 'cancel-request';
  readonly sessionId: string;
  readonly requestId: string;
}

export interface Release {
  readonly type: 'release';
  readonly sessionId: string;
  readonly token: string;
  /** Remembered with the token when the release succeeds; a repeat answers `released` again. */
  readonly releaseId: string;
  /** Keeps the key taken for this long although the grant has ended (`atLeastMs`); not bound to the session any more. */
  readonly keepMs?: number;
}

/** The same for a request of a local session, named by its call. */
export interface CancelCall {
  readonly type: 'cancel-call';
  readonly callId: CallId;
}

/** A holder in a local session gives back the very grant it was answered. */
export interface ReleaseGrant {
  readonly type: 'release-grant';
  readonly grant: Grant;
  /** As in {@link Release}. */
  readonly keepMs?: number;
}

/** An operator ends what is held of a key, whoever holds it; every end is announced before anything of it is granted again. */
export interface Revoke {
  readonly type: 'revoke';
  readonly key: LockKey;
  /** Only the grant that covers this fence. */
  readonly fence?: bigint;
  /** Of an L1: also every grant below it. */
  readonly below?: boolean;
  /** Who asks, for the log of the host. */
  readonly by?: string;
}

/** From now on nothing is granted: every waiter is refused with `draining`; sessions and their grants live on. */
export interface Drain {
  readonly type: 'drain';
}

/** The host made fences up to and including this one durable. */
export interface FencesReserved {
  readonly type: 'fences-reserved';
  readonly upTo: bigint;
}

/** No new grant before this instant (quarantine), or at all while the host is not sure to own its state (`Infinity`); 0 lifts it. */
export interface HoldGrants {
  readonly type: 'hold-grants';
  readonly untilMs: number;
  /**
   * And none from this instant on: the host is sure of its state only until then and says so again in time
   * (design D7, the `owner` file). A late timer then grants nothing. Default Infinity: each command states both bounds anew.
   */
  readonly onlyUntilMs?: number;
}

/** Time has passed: expire what is due. The engine names the next instant it wants this in `wakeAtMs`. */
export interface Wake {
  readonly type: 'wake';
}

/** The engine's record of who holds what. */
export interface Grant {
  readonly sessionId: string;
  readonly requestId: string;
  readonly key: LockKey;
  /** Empty in a local session: there the grant itself is the proof. */
  readonly token: string;
  /** The base: the grant covers fence … fence + span − 1. */
  readonly fence: bigint;
  readonly span: number;
  readonly grantedAtMs: number;
  readonly metadata?: Readonly<Record<string, string>>;
  /** In a local session: the call that asked for it, if that is one of the host's own process. */
  readonly holder?: LocalCall | undefined;
}

/** Why an acquire is not granted. */
export type Refusal =
  /** Asked once and it is taken, or `waitUntilMs` has passed. May be asked again under the same id. */
  | { readonly why: 'busy' }
  /** The request was taken back. Never again under this id. */
  | { readonly why: 'cancelled' }
  /** The id stands for another key, or for a grant that has ended. */
  | { readonly why: 'conflict' }
  /** Remembered as ended. */
  | { readonly why: 'session-gone'; readonly reason: SessionEndReason }
  | { readonly why: 'session-not-found' }
  | { readonly why: 'draining' }
  /** Quarantine after an unclean start, or no ownership of the state directory. */
  | { readonly why: 'recovering'; readonly untilMs: number }
  /** No fence is reserved and none can be waited for. */
  | { readonly why: 'no-fence' }
  /** A bound was hit; `limit` is its name. */
  | { readonly why: 'limit'; readonly limit: string };

export type AcquireAnswer =
  | { readonly type: 'granted'; readonly grant: Grant }
  | { readonly type: 'queued' }
  | { readonly type: 'refused'; readonly refusal: Refusal };

export type SessionAnswer =
  | {
      readonly type: 'session';
      readonly sessionId: string;
      readonly leaseMs: number;
      readonly expiresAtMs: number;
    }
  | { readonly type: 'session-ended' }
  | {
      readonly type: 'refused';
      readonly refusal: Extract<
        Refusal,
        { why: 'session-gone' | 'session-not-found' | 'draining' | 'limit' }
      >;
    };

export type ReleaseAnswer =
  | { readonly type: 'released' }
  | { readonly type: 'not-held' }
  /** The release id was used for another token. */
  | {
      readonly type: 'refused';
      readonly refusal: Extract<Refusal, { why: 'conflict' | 'session-gone' | 'session-not-found' }>;
    };

/** Who held; the first 100 are named. */
export interface RevokeAnswer {
  readonly type: 'revoked';
  readonly ended: readonly HolderReport[];
  readonly endedCount: number;
}

export type CancelAnswer =
  | { readonly type: 'cancelled' }
  | { readonly type: 'was-granted-now-released' }
  | { readonly type: 'unknown-request' };

/** The answer to each command type. */
export interface Answers {
  'open-session': SessionAnswer;
  'renew-session': SessionAnswer;
  'close-session': SessionAnswer;
  acquire: AcquireAnswer;
  'detach-call': undefined;
  'cancel-request': CancelAnswer;
  'cancel-call': CancelAnswer;
  release: ReleaseAnswer;
  'release-grant': ReleaseAnswer;
  revoke: RevokeAnswer;
  drain: undefined;
  'fences-reserved': undefined;
  'hold-grants': undefined;
  wake: undefined;
}

/** What the host must do, in this order: an end is announced before the keys it frees are granted to others. */
export type Effect =
  /** A queued call is answered. */
  | {
      readonly type: 'call-answered';
      readonly callId: CallId;
      readonly answer: LateAnswer;
    }
  /** Tell whoever watches the session; its locks are freed after this effect. */
  | { readonly type: 'session-ended'; readonly sessionId: string; readonly reason: SessionEndReason }
  /** Tell the holder that its grant was ended; its key is free after this effect. */
  | { readonly type: 'grant-revoked'; readonly grant: Grant; readonly by: string | undefined }
  /** Make fences up to `upTo` durable, then say `fences-reserved`. */
  | { readonly type: 'reserve-fences'; readonly upTo: bigint };

/** What one command led to. */
export interface Outcome<T extends EngineCommand['type'] = EngineCommand['type']> {
  readonly answer: Answers[T];
  readonly effects: readonly Effect[];
}

/** How an engine is made. Bounds default to `core/limits.ts`. */
export interface EngineOptions {
  /** The largest fence ever given out before (0n for none): the first grant gets a larger one. */
  readonly lastFence: bigint;
  /** Fences up to here may be given out now; Infinity-like for a host without durable state: MAX_FENCE. */
  readonly reservedFence: bigint;
  /** Fences reserved ahead in one block. Default 2^22. */
  readonly fenceBlock?: bigint;
  /** Makes the token of a grant; 128 unpredictable bits, `lk_` + 32 hex digits. */
  readonly mintToken: (grant: Omit<Grant, 'token'>) => string;
  readonly maxWaiters?: number;
  readonly maxWaitersPerKey?: number;
  readonly maxSessions?: number;
  readonly maxLocksPerSession?: number;
  /** Keys kept taken after their release (`keepMs`), in all. Default 200,000. */
  readonly maxKeptKeys?: number;
  /** Remembered finished acquires, and releases, of one session, each. Default 65,536. */
  readonly rememberedRequests?: number;
  /** How long a finished request is remembered; 0 or less: no age limit. Default 3,600,000. */
  readonly rememberMs?: number;
  /** Ended sessions remembered: default 10,000 for 600,000 ms. */
  readonly rememberedSessions?: number;
  readonly rememberSessionMs?: number;
}
