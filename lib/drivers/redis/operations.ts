import type { Instant, LockErrorFacts } from '../../core/index.js';

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

/** One operation of the klock script. Several travel in one call; see scripts/run.lua. */
export interface Operation<R> {
  readonly name: 'acquire' | 'release' | 'renew' | 'inspect' | 'probe';
  readonly tree: string;
  /** What an error of it tells the caller. */
  readonly facts: LockErrorFacts;
  /** Whether anyone still wants it, asked just before it is sent. */
  readonly wanted?: () => boolean;
  /** Its arguments after the tree, as its header in scripts/ says. */
  args(sending: Sending): readonly string[];
  /** Reads its result, whose first word is none of the failures every operation can have. */
  read(result: readonly unknown[]): R;
}

export type AcquireResult =
  | {
      readonly type: 'granted';
      readonly fence: string;
      readonly span: number;
      readonly leftMs: number;
      readonly repaired: boolean;
    }
  | { readonly type: 'queued'; readonly arrival: string; readonly askAgainMs: number }
  | { readonly type: 'busy'; readonly holder: string }
  | { readonly type: 'expired' }
  | { readonly type: 'gone' };

export interface AcquireArguments {
  readonly tree: string;
  readonly facts: LockErrorFacts;
  readonly l2: string;
  readonly id: string;
  readonly token: string;
  readonly ttlMs: number;
  readonly mode: 'queue' | 'leave';
  readonly arrival: string;
  readonly span: number;
  readonly meta: string;
  readonly wanted: () => boolean;
  /** Told when it is sent. */
  readonly sent: (sending: Sending) => void;
}

export function acquireOperation(asked: AcquireArguments): Operation<AcquireResult> {
  const { l2, id, token, ttlMs, mode, arrival, span, meta } = asked;
  return {
    name: 'acquire',
    tree: asked.tree,
    facts: asked.facts,
    wanted: asked.wanted,
    args: (sending) => {
      asked.sent(sending);
      const notAfter = String(sending.notAfterMs);
      return [l2, id, token, String(ttlMs), notAfter, mode, arrival, String(span), meta];
    },
    read: readAcquire,
  };
}

function readAcquire(result: readonly unknown[]): AcquireResult {
  const type = text(result[0]);
  switch (type) {
    case 'granted':
      return {
        type,
        fence: text(result[1]),
        span: Number(text(result[2])),
        leftMs: Number(text(result[3])),
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
      throw unexpected('acquire', type);
  }
}

export type ReleaseResult = 'released' | 'other' | 'absent';

export interface ReleaseArguments {
  readonly tree: string;
  readonly facts: LockErrorFacts;
  readonly l2: string;
  readonly id: string;
  readonly token: string;
  readonly keepMs: () => number;
  /** In the clock of the server; 0: no copy of the acquire can be under way. */
  readonly goneUntilMs: (sending: Sending) => number;
}

export function releaseOperation(asked: ReleaseArguments): Operation<ReleaseResult> {
  const { tree, l2, id, token } = asked;
  return {
    name: 'release',
    tree,
    facts: asked.facts,
    args: (sending) => [l2, id, token, String(asked.keepMs()), String(asked.goneUntilMs(sending))],
    read: (result) => oneOf('release', ['released', 'other', 'absent'], text(result[0])),
  };
}

export type RenewResult =
  | { readonly type: 'renewed'; readonly leftMs: number }
  | { readonly type: 'superseded' | 'other' | 'absent' };

export interface RenewArguments {
  readonly tree: string;
  readonly facts: LockErrorFacts;
  readonly l2: string;
  readonly token: string;
  /** Undefined for a call by token, which does not know the count. */
  readonly number: number | undefined;
  readonly ttlMs: number;
  readonly mode: 'most' | 'exact';
  readonly wanted?: () => boolean;
}

export function renewOperation(asked: RenewArguments): Operation<RenewResult> {
  const { tree, l2, token, number, ttlMs, mode, wanted } = asked;
  return {
    name: 'renew',
    tree,
    facts: asked.facts,
    ...(wanted === undefined ? undefined : { wanted }),
    args: () => [l2, token, number === undefined ? '' : String(number), String(ttlMs), mode],
    read: (result) => {
      const type = oneOf('renew', ['renewed', 'superseded', 'other', 'absent'], text(result[0]));
      return type === 'renewed' ? { type, leftMs: Number(text(result[1])) } : { type };
    },
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

export function probeOperation(tree: string, facts: LockErrorFacts): Operation<ProbeResult> {
  return {
    name: 'probe',
    tree,
    facts,
    args: () => [],
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

export function inspectOperation(
  tree: string,
  l2: string,
  limit: number,
  facts: LockErrorFacts,
): Operation<InspectResult> {
  return {
    name: 'inspect',
    tree,
    facts,
    args: () => [l2, String(limit)],
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
