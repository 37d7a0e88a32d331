import { LockNotHeldError, createKlock, type KlockInstance } from '../core/index.js';
import { memoryDriver, memoryStore } from '../drivers/memory/index.js';
import { parseFenceHeader } from './fence-header.js';
import { attachFence, fenceHeaders } from './outgoing.js';
import { proofOf } from './proof-of.js';

const count = { reentry: 'count' } as const;
let klock: KlockInstance;

beforeEach(() => {
  klock = createKlock({ driver: memoryDriver(), namespace: 'shop' });
});
afterEach(async () => await klock.close());

function sent(headers: Readonly<Record<string, string | undefined>>): unknown {
  return parseFenceHeader(headers['Klock-Fence']).map(({ fence, key }) => ({ fence, key }));
}

describe('fences on their way out', () => {
  it('a handle is sent with its fence, its whole key and the name of its store', async () => {
    await using lock = await klock.acquire(['order', '7']);
    expect(parseFenceHeader(fenceHeaders(lock)['Klock-Fence'])).toEqual([
      { fence: lock.fence, key: ['shop/order', '7'], store: klock.store },
    ]);
  });

  it('a counted L2 under an L1 grant is sent with the key of the grant, so that it writes as L1', async () => {
    await klock.withLock('tenant', async (outer) => {
      await klock.withLock(['tenant', 'a'], count, (inner) => {
        expect(sent(fenceHeaders(inner))).toEqual([{ fence: outer.fence, key: ['shop/tenant'] }]);
        expect(sent(fenceHeaders(klock))).toEqual([{ fence: outer.fence, key: ['shop/tenant'] }]);
      });
    });
  });

  it('from an instance: every lock the flow holds, innermost first, each grant once', async () => {
    await klock.withLock('a', async (a) => {
      await klock.withLock(['b', '1'], async (b) => {
        await Promise.resolve();
        expect(sent(fenceHeaders(klock))).toEqual([
          { fence: b.fence, key: ['shop/b', '1'] },
          { fence: a.fence, key: ['shop/a'] },
        ]);
      });
    });
  });

  it('outside of a flow, or inside one whose lock was released, nothing is sent: the receiver refuses', async () => {
    await using _bare = await klock.acquire('bare');
    expect(fenceHeaders(klock)).toEqual({});
    await klock.withLock('a', async (lock) => {
      await lock.release();
      expect(fenceHeaders(klock)).toEqual({});
    });
  });

  it('a lock of another store is not sent as one of this', async () => {
    const other = createKlock({ driver: memoryDriver({ store: memoryStore() }) });
    await other.withLock('a', () => expect(fenceHeaders(klock)).toEqual({}));
    await other.close();
  });

  it('a handle that is not held any more gives no header, but the error', async () => {
    const lock = await klock.acquire('a');
    await lock.release();
    expect(() => fenceHeaders(lock)).toThrow(LockNotHeldError);
  });

  it('a proof that was accepted is sent on as it is', () => {
    const accepted = { fence: 9n, key: ['k'] as const, store: 's' };
    expect(parseFenceHeader(fenceHeaders(accepted)['Klock-Fence'])).toEqual([accepted]);
    expect(() => proofOf({ ...accepted, fence: 9 as never })).toThrow(/fence must be a bigint/);
    expect(() => proofOf(undefined as never)).toThrow(/fence must be a bigint/);
  });

  it('sets the header on Headers and on anything alike, and leaves it alone without a lock', async () => {
    const headers = new Headers({ accept: 'text/plain' });
    expect(attachFence(headers, klock)).toBe(headers);
    expect(headers.has('klock-fence')).toBe(false);
    await klock.withLock('a', (lock) => {
      attachFence(headers, klock);
      expect(headers.get('klock-fence')).toMatch(new RegExp(`^${lock.fence}; key="shop%2Fa"; store="`));
    });
  });
});
