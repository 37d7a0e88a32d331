import { createHash } from 'node:crypto';
import type { LockKey } from '../../core/index.js';
import type { KeySpace } from './key-space.js';
import type { KeyValue } from './messages.js';

/** `waiting`: a place in the queue; `held`: a grant; `kept`: released, but nobody else's yet (`atLeastMs`). */
export type EntryState = 'waiting' | 'held' | 'kept';

/** What an entry's value says. Times are those of its client's wall clock. */
export interface EntryFacts {
  readonly state: EntryState;
  /** Of the grant's token: whoever reads etcd shall not be able to release. */
  readonly tokenHash: string;
  readonly queuedAtMs: number;
  readonly grantedAtMs?: number;
  /** Mod revision of the grant, where the entry was written again after it. */
  readonly grantRevision?: string;
  readonly client?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** One entry as it stands in etcd. */
export interface Entry extends EntryFacts {
  readonly key: LockKey;
  readonly requestId: string;
  readonly name: Buffer;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly leaseId: bigint;
}

/** Says whose value this is and how it is to be read. */
const FORMAT = 'klock1';
const STATES: readonly string[] = ['waiting', 'held', 'kept'] satisfies readonly EntryState[];

export function writeEntry(facts: EntryFacts): Buffer {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...facts }), 'utf8');
}

/**
 * A value that this version cannot read, at a key that is klock's: perhaps a later version's grant.
 * It counts as one, since the other reading of it would be two holders.
 */
const UNREADABLE: EntryFacts = { state: 'held', tokenHash: '', queuedAtMs: 0 };

/** The entry in a key and its value; undefined for a key that is not klock's, which blocks nobody. */
export function readEntry(kv: KeyValue, keys: KeySpace): Entry | undefined {
  const place = keys.parse(kv.key);
  if (place === undefined) return undefined;
  return {
    ...(readFacts(kv.value) ?? UNREADABLE),
    ...place,
    name: kv.key,
    createRevision: kv.create_revision,
    modRevision: kv.mod_revision,
    leaseId: kv.lease,
  };
}

function readFacts(value: Buffer): EntryFacts | undefined {
  let read: unknown;
  try {
    read = JSON.parse(value.toString('utf8'));
  } catch {
    return undefined;
  }
  if (typeof read !== 'object' || read === null) return undefined;
  const { format, ...facts } = read as EntryFacts & { readonly format: unknown };
  return format === FORMAT && areFacts(facts) ? facts : undefined;
}

/** Somebody else may have written there: reports and token calls rely on what each fact is. */
function areFacts(facts: { readonly [Fact in keyof EntryFacts]?: unknown }): boolean {
  const {
    state,
    tokenHash,
    queuedAtMs,
    grantedAtMs = 0,
    grantRevision = '0',
    client = '',
    metadata = {},
  } = facts;
  const texts = [state, tokenHash, grantRevision, client];
  return (
    texts.every((text) => typeof text === 'string') &&
    STATES.includes(state as string) &&
    /^\d+$/.test(grantRevision as string) &&
    [queuedAtMs, grantedAtMs].every(Number.isFinite) &&
    typeof metadata === 'object' &&
    metadata !== null &&
    Object.values(metadata).every((label) => typeof label === 'string')
  );
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** The lease's id as people and reports see it. */
export function leaseName(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16).padStart(16, '0');
}
