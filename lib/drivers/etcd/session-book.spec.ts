import { FakeClock } from '../../core/fake-clock.js';
import { createKlock, type KlockInstance } from '../../core/index.js';
import { CallError, ScriptedTransport } from '../../../test/support/etcd-transport.js';
import { EtcdDriver } from './etcd-driver.js';
import { resolveEtcdOptions } from './etcd-options.js';

/** An etcd in which every key is free: what is looked at here are its leases. */
class FreeEtcd {
  readonly transport = new ScriptedTransport();
  readonly granted: bigint[] = [];
  readonly revoked: bigint[] = [];
  readonly renewed: bigint[] = [];
  extraSeconds = 0n;
  down = false;
  private revision = 1n;

  constructor() {
    this.transport.onUnary = (_, path, request) => this.answer(path, request as Record<string, bigint>);
    this.transport.onSend = (stream, message) => {
      const { ID } = message as { ID?: bigint };
      if (ID === undefined || this.down) return;
      this.renewed.push(ID);
      stream.answer({ ID, TTL: this.revoked.includes(ID) ? 0n : 2n });
    };
  }

  private answer(path: string, request: Record<string, bigint>): unknown {
    if (this.down) throw new CallError(14, 'down', 0);
    if (path.endsWith('LeaseGrant')) {
      this.granted.push(BigInt(this.granted.length + 1));
      return { ID: this.granted.at(-1), TTL: (request.TTL ?? 0n) + this.extraSeconds };
    }
    if (path.endsWith('LeaseRevoke')) this.revoked.push(request.ID!);
    return { header: { revision: ++this.revision }, succeeded: true, responses: [], kvs: [], TTL: 2n };
  }
}

let clock: FakeClock;
let etcd: FreeEtcd;
let klock: KlockInstance;

beforeEach(() => {
  clock = new FakeClock();
  etcd = new FreeEtcd();
  const driver = new EtcdDriver(resolveEtcdOptions({ hosts: 'a' }), () => etcd.transport);
  klock = createKlock({ ttlMs: 2_000, driver, clock });
});

describe('the sessions of the etcd driver', () => {
  it('[D-43] one is opened for all who ask at once, and serves every later lock of the default ttl', async () => {
    const locks = await Promise.all(Array.from({ length: 20 }, (_, index) => klock.acquire(`k${index}`)));
    await locks[0]!.release();
    await klock.acquire('k0');
    await klock.acquire('k', { renew: false });
    expect(etcd.granted).toEqual([1n]);
  });

  it('[K-148] counts the shorter of the lease asked for and the one granted', async () => {
    etcd.extraSeconds = 5n;
    expect((await klock.acquire('a')).remainingMs).toBe(1_800);
    etcd.extraSeconds = -1n;
    expect((await klock.acquire('b', { ttlMs: 4_000 })).remainingMs).toBe(2_700);
  });

  it('[D-43] a lock with a ttl of its own has a lease of its own, revoked with it', async () => {
    const lock = await klock.acquire('k', { ttlMs: 5_000 });
    expect(etcd.granted).toEqual([1n]);
    await lock.release();
    await clock.advance(0);
    expect(etcd.revoked).toEqual([1n]);
  });

  it('[D9] one without lock or waiter for 30 s is revoked and renewed no more; the next lock opens another', async () => {
    const lock = await klock.acquire('k');
    await clock.advance(40_000);
    expect(etcd.revoked).toEqual([]);
    await lock.release();
    await clock.advance(29_000);
    expect(etcd.revoked).toEqual([]);
    await clock.advance(2_000);
    expect(etcd.revoked).toEqual([1n]);
    const { length } = etcd.renewed;
    await clock.advance(10_000);
    expect(etcd.renewed).toHaveLength(length);
    await klock.acquire('k');
    expect(etcd.granted).toEqual([1n, 2n]);
  });

  it('[D-45] [WD-04] one that is over by its own deadline is never used again: the next lock opens another', async () => {
    const lock = await klock.acquire('k');
    clock.block(5_000);
    const next = await klock.acquire('other');
    expect([lock.held, next.held, etcd.granted]).toEqual([false, true, [1n, 2n]]);
    await clock.advance(0);
    expect(etcd.revoked).toEqual([1n]);
  });

  it('[B-054] after its loss it is asked for no more', async () => {
    const lock = await klock.acquire('k');
    etcd.revoked.push(1n);
    await clock.advance(1_000);
    expect(lock.held).toBe(false);
    const { length } = etcd.renewed;
    await clock.advance(20_000);
    expect(etcd.renewed).toHaveLength(length);
  });

  it('[D-34] all of them are revoked by close, and nothing is kept open', async () => {
    await klock.acquire('a');
    await klock.acquire('b', { ttlMs: 5_000 });
    const closing = klock.close({ graceMs: 1 });
    await clock.advance(10);
    await closing;
    expect([...etcd.revoked].sort()).toEqual([1n, 2n]);
    expect(etcd.transport.closed).toBe(true);
  });

  it('[D-36] close gives up in time where the store does not answer, and leaves no timer', async () => {
    await klock.acquire('a');
    etcd.down = true;
    const closing = klock.close({ graceMs: 1 });
    await clock.advance(1_100);
    await closing;
    await clock.advance(5_000);
    expect(clock.timers).toBe(0);
  });
});
