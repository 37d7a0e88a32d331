import { writeEntry, type EntryState } from './entry.js';
import { KeySpace } from './key-space.js';
import type { KeyValue, TxnRequest, TxnResponse } from './messages.js';
import { Transactions } from './transactions.js';

const keys = new KeySpace('klock');
const transactions = new Transactions(keys);
const mine = transactions.seat(['a', 'x'], 'mine', 7n);
const value = (state: EntryState): Buffer => writeEntry({ state, tokenHash: 'h', queuedAtMs: 0 });

function kv(
  requestId: string,
  revision: bigint,
  { state = 'waiting', lease = 7n }: { state?: EntryState; lease?: bigint } = {},
): KeyValue {
  return {
    key: keys.entry(['a', 'x'], requestId),
    create_revision: revision,
    mod_revision: revision,
    version: 1n,
    value: value(state),
    lease,
  };
}

const range = (...kvs: KeyValue[]): object => ({
  response_range: { header: undefined, kvs, more: false, count: BigInt(kvs.length) },
});
const reply = (succeeded: boolean, ...responses: object[]): TxnResponse =>
  ({ header: { revision: 90n }, succeeded, responses }) as unknown as TxnResponse;
const notSeated = (own: KeyValue): TxnResponse =>
  reply(false, range(), range(), { response_txn: { succeeded: false, responses: [range(own)] } });

/** Entries that a branch of a transaction may put, those of nested transactions among them. */
function putsOf(request: TxnRequest, branch: 'success' | 'failure'): string[] {
  return (request[branch] ?? []).flatMap((op) => {
    const own = op.request_put === undefined ? [] : [op.request_put.key!.toString()];
    const inner = op.request_txn;
    return [
      ...own,
      ...(inner === undefined ? [] : [...putsOf(inner, 'success'), ...putsOf(inner, 'failure')]),
    ];
  });
}

describe('the transactions', () => {
  it('[D6] put at most one entry each, and a cancellation or release none', () => {
    const guard = { leaseId: 9n };
    const all = [
      transactions.enqueue(mine, value('held'), value('waiting')),
      transactions.grant(mine, 5n, 5n, value('held')),
      transactions.grantFirst(mine, 5n, 5n, value('held')),
      transactions.keep(mine, 5n, value('kept'), guard),
      transactions.cancel(mine, guard),
      transactions.release(mine, 5n, guard),
    ];
    for (const request of all) {
      for (const branch of ['success', 'failure'] as const) {
        const entries = new Set(putsOf(request, branch).filter((name) => keys.parse(Buffer.from(name))));
        expect(entries.size).toBeLessThanOrEqual(1);
      }
    }
    expect(putsOf(all[4]!, 'success')).toEqual([keys.guard('mine').toString()]);
  });

  it('[D4] a copy that finds its own grant takes that one, with the revision at which it was granted', () => {
    const result = transactions.readEnqueue(
      mine,
      { waits: true },
      notSeated(kv('mine', 41n, { state: 'held' })),
    );
    expect(result).toEqual({ outcome: 'granted', revision: 41n });
  });

  it('[B-050] an entry of this request under another lease is not ours, held or waiting', () => {
    for (const state of ['held', 'waiting'] as const) {
      const other = kv('mine', 41n, { state, lease: 8n });
      expect(transactions.readEnqueue(mine, { waits: true }, notSeated(other)).outcome).toBe('none');
      const looked = reply(false, {
        response_txn: { succeeded: false, responses: [range(), range(), range(other)] },
      });
      expect(transactions.readGrant(mine, 41n, looked).outcome).toBe('gone');
    }
  });

  it('wait for the last entry before their own, never for themselves or one behind', () => {
    const looked = reply(false, {
      response_txn: {
        succeeded: false,
        responses: [
          range(kv('l1', 30n)),
          range(kv('behind', 60n), kv('mine', 50n), kv('ahead', 40n), kv('far', 20n)),
          range(kv('mine', 50n)),
        ],
      },
    });
    const result = transactions.readGrant(mine, 50n, looked);
    expect(result.outcome === 'waiting' && result.look.ahead?.requestId).toBe('ahead');
  });
});
