import type { Instant, LockErrorFacts } from '../../core/index.js';
import type { Answer } from './answer.js';

/** One sending of an operation, as far as its arguments depend on it. */
export interface Sending {
  /** Both clocks, read before the script call was handed to the client library. */
  readonly sentAt: Instant;
  /** The operation's own deadline in the clock of the server it goes to; 0 where that is not known. */
  readonly notAfterMs: number;
  /** The link's epoch. */
  readonly epoch: number;
  readonly node: string;
}

/** What the klock script can do (scripts/run.lua). */
export type OperationName = 'acquire' | 'release' | 'revoke' | 'renew' | 'inspect' | 'probe';

/** One question to the klock script; several travel in one call. */
export interface Question<R> {
  readonly name: OperationName;
  readonly tree: string;
  /** '' for the L1. */
  readonly l2: string;
  /** Token and id of who asks, as the operation's header in scripts/ says; '' where it names none. */
  readonly who: string;
  /** JSON that stays with the lock, or ''. */
  readonly meta: string;
  /** What an error of it tells the caller. */
  readonly facts: LockErrorFacts;
  /** Whether anyone still wants it, asked just before it is sent. */
  isWanted?(): boolean;
  /** Its own words, as its header in scripts/ says. Called once per sending. */
  words(sending: Sending): string;
  /** Reads its result, whose first word is none of the failures every operation can have. */
  read(result: readonly unknown[]): R;
}

/** A question and who is told of its answer. */
export interface Operation<R> extends Question<R> {
  /** Called once. Must not throw. */
  settled(answer: Answer<R>): void;
}

export type AcquireResult =
  | {
      readonly type: 'granted';
      readonly fence: string;
      /** Undefined where it is as asked. */
      readonly span: number | undefined;
      /** Undefined for a new grant, which has all of its ttl. */
      readonly leftMs: number | undefined;
      readonly repaired: boolean;
    }
  | { readonly type: 'queued'; readonly arrival: string; readonly askAgainMs: number }
  | { readonly type: 'busy'; readonly holder: string }
  | { readonly type: 'expired' }
  | { readonly type: 'gone' };

const DECIMAL = /^[1-9]\d*$/;

export function readAcquire(result: readonly unknown[]): AcquireResult {
  const type = text(result[0]);
  switch (type) {
    case 'granted':
      return {
        type,
        fence: text(result[1]),
        span: optionalNumber(result[2]),
        leftMs: optionalNumber(result[3]),
        repaired: text(result[4]) === 'repaired',
      };
    case 'queued':
      return { type, arrival: text(result[1]), askAgainMs: Number(text(result[2])) };
    case 'busy':
      return { type, holder: text(result[1]) };
    case 'expired':
    case 'gone':
      return { type };
    default:
      return newGrant(type);
  }
}

/** Nearly every answer is nothing but a fence. */
function newGrant(fence: string): AcquireResult {
  if (!DECIMAL.test(fence)) throw unexpected('acquire', fence);
  return { type: 'granted', fence, span: undefined, leftMs: undefined, repaired: false };
}

export type ReleaseResult = 'released' | 'other' | 'absent';

export function readRelease(result: readonly unknown[]): ReleaseResult {
  const word = text(result[0]);
  // Before the search, which nearly every answer can do without.
  return word === 'released' ? word : oneOf('release', ['other', 'absent'], word);
}

export type RenewResult =
  | { readonly type: 'renewed'; readonly leftMs: number }
  | { readonly type: 'superseded' | 'other' | 'absent' | 'revoked' };

export interface RenewArguments {
  readonly tree: string;
  readonly l2: string;
  readonly facts: LockErrorFacts;
  readonly token: string;
  /** 0 for a call by token, which does not know the count. */
  readonly number: number;
  readonly ttlMs: number;
  readonly mode: 'most' | 'exact';
  readonly isWanted?: () => boolean;
}

export function renewQuestion(asked: RenewArguments): Question<RenewResult> {
  const { tree, l2, facts, token, number, ttlMs, mode, isWanted } = asked;
  return {
    name: 'renew',
    tree,
    l2,
    facts,
    ...(isWanted === undefined ? undefined : { isWanted }),
    who: token,
    meta: '',
    words: () => `${number} ${ttlMs} ${mode}`,
    read: (result) => {
      const type = oneOf('renew', ['renewed', 'superseded', 'other', 'absent', 'revoked'], text(result[0]));
      return type === 'renewed' ? { type, leftMs: Number(text(result[1])) } : { type };
    },
  };
}

export type RevokeResult = 'revoked' | 'other' | 'absent';

/** Ends the grant that covers this fence. */
export function revokeQuestion(
  tree: string,
  l2: string,
  fence: bigint,
  facts: LockErrorFacts,
): Question<RevokeResult> {
  return {
    name: 'revoke',
    tree,
    l2,
    who: '',
    meta: '',
    facts,
    words: () => String(fence),
    read: (result) => oneOf('revoke', ['revoked', 'other', 'absent'], text(result[0])),
  };
}

export interface ProbeResult {
  readonly evictionPolicy: string;
  readonly maxMemory: string;
  readonly role: string;
  readonly version: string;
  /** What the user may not do, in Redis's words; empty if nothing is missing. */
  readonly missing: string;
}

export function probeQuestion(tree: string, facts: LockErrorFacts): Question<ProbeResult> {
  return {
    name: 'probe',
    tree,
    l2: '',
    who: '',
    meta: '',
    facts,
    words: () => '',
    read: (result) => ({
      evictionPolicy: text(result[1]),
      maxMemory: text(result[2]),
      role: text(result[3]),
      version: text(result[4]),
      missing: text(result[5]),
    }),
  };
}

export interface InspectResult {
  readonly waiterCount: number;
  readonly holders: readonly (readonly string[])[];
  readonly waiters: readonly (readonly string[])[];
}

export function inspectQuestion(
  tree: string,
  l2: string,
  limit: number,
  facts: LockErrorFacts,
): Question<InspectResult> {
  return {
    name: 'inspect',
    tree,
    l2,
    who: '',
    meta: '',
    facts,
    words: () => String(limit),
    read: (result) => ({
      waiterCount: Number(text(result[1])),
      holders: rows(result[2]),
      waiters: rows(result[3]),
    }),
  };
}

/** Clients may be set up to give buffers, or numbers as text: here everything is text. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (typeof value === 'number' || typeof value === 'bigint') return value.toString();
  return '';
}

function optionalNumber(value: unknown): number | undefined {
  const word = text(value);
  return word === '' ? undefined : Number(word);
}

function rows(value: unknown): string[][] {
  return (Array.isArray(value) ? value : []).map((row: unknown) => (Array.isArray(row) ? row.map(text) : []));
}

function oneOf<const T extends string>(name: string, words: readonly T[], word: string): T {
  const found = words.find((each) => each === word);
  if (found === undefined) throw unexpected(name, word);
  return found;
}

function unexpected(name: string, word: string): Error {
  return new TypeError(`the klock script answered ${name} with ${JSON.stringify(word)}`);
}
