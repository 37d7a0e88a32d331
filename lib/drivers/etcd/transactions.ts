import type { LockKey } from '../../core/index.js';
import { PREDECESSORS } from './bounds.js';
import { readEntry, type Entry } from './entry.js';
import type { KeyRange, KeySpace } from './key-space.js';
import {
  BY_CREATE_REVISION,
  CREATE_REVISION,
  DESCEND,
  GREATER,
  MOD_REVISION,
  type Compare,
  type KeyValue,
  type RequestOp,
  type ResponseOp,
  type TxnRequest,
  type TxnResponse,
} from './messages.js';

// Every decision of the store is one of these transactions. In each, at most one entry is put (design D6): a revision
// belongs to one grant.

/** One request's place in etcd. */
export interface Seat {
  readonly key: LockKey;
  readonly requestId: string;
  /** Its entry's key in etcd. */
  readonly name: Buffer;
  readonly leaseId: bigint;
}

/** A guard to write together with a deletion: its key and the lease it lives on. */
export interface GuardPut {
  readonly leaseId: bigint;
  /** Why there is a guard. Default `cancelled`. */
  readonly word?: GuardWord;
}

/** `cancelled`: its own client took the request back; `revoked`: an operator ended its grant. */
export type GuardWord = 'cancelled' | 'revoked';

/** What a transaction found out about a seat. */
export interface Look {
  /** Revision of the store at this look. */
  readonly revision: bigint;
  /** Our own entry, as far as it exists. */
  readonly own: Entry | undefined;
  /** The last entry before ours that conflicts. */
  readonly ahead: Entry | undefined;
  /** Only keys that are not klock's were seen where predecessors stand: more of them must be read to be sure. */
  readonly unsure: boolean;
}

export type EnqueueResult =
  | { readonly outcome: 'granted'; readonly revision: bigint }
  /** `seated`: the entry was made by this very copy. */
  | { readonly outcome: 'queued'; readonly look: Look; readonly seated: boolean }
  /** The request was cancelled, or it was asked once and the key is taken. */
  | { readonly outcome: 'none'; readonly look: Look };

export type GrantResult =
  | { readonly outcome: 'granted'; readonly revision: bigint }
  | { readonly outcome: 'waiting'; readonly look: Look }
  /** Nothing of ours stands there: the lease has ended, or somebody deleted it. */
  | { readonly outcome: 'gone'; readonly look: Look };

/** Builds the transactions of one key space and reads their replies. */
export class Transactions {
  constructor(private readonly keys: KeySpace) {}

  seat(key: LockKey, requestId: string, leaseId: bigint): Seat {
    return { key, requestId, name: this.keys.entry(key, requestId), leaseId };
  }

  /** Takes a free key at once; else takes a place in the queue (`waiting` given) or only tells who is in the way. */
  enqueue(seat: Seat, held: Buffer, waiting: Buffer | undefined): TxnRequest {
    const { name } = seat;
    const noGuard = absent(this.keys.guard(seat.requestId));
    const own: RequestOp = { request_range: { key: name } };
    const sit: RequestOp = {
      request_txn: {
        compare: [noGuard, absent(name)],
        success: waiting === undefined ? [] : [put(name, waiting, seat.leaseId)],
        failure: [own],
      },
    };
    return {
      compare: [noGuard, ...this.keys.conflicting(seat.key).map(isEmpty)],
      success: [put(name, held, seat.leaseId)],
      // Read before the entry is put: what is found stands before it.
      failure: [...this.lastOf(seat.key, undefined), waiting === undefined ? own : sit],
    };
  }

  readEnqueue(seat: Seat, asked: { readonly waits: boolean }, reply: TxnResponse): EnqueueResult {
    const revision = revisionOf(reply);
    if (reply.succeeded) return { outcome: 'granted', revision };
    const ahead = this.ahead(reply.responses.slice(0, -1), undefined, seat.requestId);
    const last = reply.responses.at(-1);
    const seated = asked.waits && last?.response_txn?.succeeded === true;
    if (seated) {
      return { outcome: 'queued', seated, look: { revision, own: undefined, ...ahead } };
    }
    const own = this.own(seat, asked.waits ? last?.response_txn?.responses[0] : last);
    const look = { revision, own, ...ahead };
    if (own === undefined) return { outcome: 'none', look };
    if (own.state === 'held') return { outcome: 'granted', revision: own.modRevision };
    return { outcome: 'queued', seated, look };
  }

  /**
   * Grants, if the entry is still waiting as it was read and nothing that conflicts stands before it; else tells what does.
   * An empty range compares as revision 0, so an L2 asks twice: with no L1 entry at all, and with later ones only.
   */
  grant(seat: Seat, createRevision: bigint, modRevision: bigint, held: Buffer): TxnRequest {
    const { name } = seat;
    const still = unchanged(name, modRevision);
    const success = [put(name, held, seat.leaseId)];
    const failure = this.looking(seat, createRevision);
    const own = this.keys.own(seat.key);
    const others = this.keys.conflicting(seat.key).filter((range) => !range.key.equals(own.key));
    const mine = seat.key.length === 1 ? [] : [noneBefore(own, createRevision)];
    if (seat.key.length === 1) {
      return {
        compare: [still, ...others.map((range) => noneBefore(range, createRevision))],
        success,
        failure,
      };
    }
    const later: RequestOp = {
      request_txn: {
        compare: [still, ...mine, ...others.map((range) => noneBefore(range, createRevision))],
        success,
        failure,
      },
    };
    return { compare: [still, ...mine, ...others.map(isEmpty)], success, failure: [later] };
  }

  /** Grants an entry that is known to have nothing before it: nothing can come before it later. */
  grantFirst(seat: Seat, createRevision: bigint, modRevision: bigint, held: Buffer): TxnRequest {
    const { name } = seat;
    return {
      compare: [unchanged(name, modRevision)],
      success: [put(name, held, seat.leaseId)],
      failure: this.looking(seat, createRevision),
    };
  }

  readGrant(seat: Seat, createRevision: bigint, reply: TxnResponse): GrantResult {
    const revision = revisionOf(reply);
    const inner = reply.succeeded ? undefined : reply.responses[0]?.response_txn;
    if (reply.succeeded || inner?.succeeded === true) return { outcome: 'granted', revision };
    const responses = inner?.responses ?? reply.responses;
    const own = this.own(seat, responses.at(-1));
    const look = { revision, own, ...this.ahead(responses.slice(0, -1), createRevision, seat.requestId) };
    if (own === undefined) return { outcome: 'gone', look };
    if (own.state === 'held') return { outcome: 'granted', revision: own.modRevision };
    return { outcome: 'waiting', look };
  }

  /** Takes a request back whatever became of it. */
  cancel(seat: Pick<Seat, 'name' | 'requestId'>, guard: GuardPut | undefined): TxnRequest {
    return { success: this.removal(seat, guard) };
  }

  /** Gives a grant back, if it still is one. */
  release(
    seat: Pick<Seat, 'name' | 'requestId'>,
    grantRevision: bigint,
    guard: GuardPut | undefined,
  ): TxnRequest {
    const { name } = seat;
    return { compare: [unchanged(name, grantRevision)], success: this.removal(seat, guard) };
  }

  /** Requests that do not touch each other's keys, each decided by itself, in one round. */
  together(requests: readonly TxnRequest[]): TxnRequest {
    return { success: requests.map((request) => ({ request_txn: request })) };
  }

  /** Gives a grant back, but leaves the key taken under a lease of its own: the place in front of the queue stays. */
  keep(seat: Seat, grantRevision: bigint, kept: Buffer, guard: GuardPut | undefined): TxnRequest {
    const { name } = seat;
    return {
      compare: [unchanged(name, grantRevision)],
      success: [put(name, kept, seat.leaseId), ...this.guarding(seat, guard)],
    };
  }

  /** Entries before a revision, the latest first, a few of each range that conflicts. */
  lastOf(key: LockKey, before: bigint | undefined): RequestOp[] {
    return this.keys.conflicting(key).map((range) => ({
      request_range: {
        key: range.key,
        range_end: range.end,
        limit: PREDECESSORS,
        sort_order: DESCEND,
        sort_target: BY_CREATE_REVISION,
        ...(before === undefined ? undefined : { max_create_revision: before - 1n }),
      },
    }));
  }

  private looking(seat: Seat, createRevision: bigint): RequestOp[] {
    const own = { request_range: { key: seat.name } };
    return [...this.lastOf(seat.key, createRevision), own];
  }

  private removal(seat: Pick<Seat, 'name' | 'requestId'>, guard: GuardPut | undefined): RequestOp[] {
    const { name } = seat;
    return [{ request_delete_range: { key: name } }, ...this.guarding(seat, guard)];
  }

  private guarding(seat: Pick<Seat, 'requestId'>, guard: GuardPut | undefined): RequestOp[] {
    return guard === undefined
      ? []
      : [put(this.keys.guard(seat.requestId), Buffer.from(guard.word ?? 'cancelled'), guard.leaseId)];
  }

  /** Our own entry: ours only if it rests on our lease too (case B-050). */
  private own(seat: Seat, response: ResponseOp | undefined): Entry | undefined {
    const kv = response?.response_range?.kvs[0];
    const entry = kv === undefined ? undefined : readEntry(kv, this.keys);
    return entry?.leaseId === seat.leaseId ? entry : undefined;
  }

  private ahead(
    responses: readonly ResponseOp[],
    before: bigint | undefined,
    requestId: string,
  ): Pick<Look, 'ahead' | 'unsure'> {
    let ahead: Entry | undefined;
    let unsure = false;
    for (const { response_range: found } of responses) {
      const mine = this.lastEntry(found?.kvs ?? [], before, requestId);
      if (mine === undefined && found?.more === true) unsure = true;
      if (mine !== undefined && mine.createRevision > (ahead?.createRevision ?? 0n)) ahead = mine;
    }
    return { ahead, unsure };
  }

  /** Of keys sorted latest first, the first that is an entry of klock, not our own. */
  private lastEntry(
    kvs: readonly KeyValue[],
    before: bigint | undefined,
    requestId: string,
  ): Entry | undefined {
    for (const kv of kvs) {
      const entry = readEntry(kv, this.keys);
      if (entry === undefined || entry.requestId === requestId) continue;
      if (before === undefined || entry.createRevision < before) return entry;
    }
    return undefined;
  }
}

export function revisionOf(reply: { readonly header: { readonly revision: bigint } | undefined }): bigint {
  return reply.header?.revision ?? 0n;
}

function put(key: Buffer, value: Buffer, lease: bigint): RequestOp {
  return { request_put: { key, value, lease } };
}

function absent(key: Buffer): Compare {
  return { target: CREATE_REVISION, key, create_revision: 0n };
}

function isEmpty({ key, end }: KeyRange): Compare {
  return { target: CREATE_REVISION, key, range_end: end, create_revision: 0n };
}

/** Of a range that is not empty: every key in it was created at `revision` or later. */
function noneBefore({ key, end }: KeyRange, revision: bigint): Compare {
  return { result: GREATER, target: CREATE_REVISION, key, range_end: end, create_revision: revision - 1n };
}

function unchanged(key: Buffer, revision: bigint): Compare {
  return { target: MOD_REVISION, key, mod_revision: revision };
}
