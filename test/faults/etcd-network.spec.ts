import { isLockError, type LockHandle } from 'klock/core';
import { EtcdRig, failure, pause, until } from '../support/etcd-rig.js';
import { TcpProxy, type Direction } from '../support/tcp-proxy.js';

const rig = new EtcdRig();
let proxy: TcpProxy;
beforeAll(async () => {
  await rig.start();
  proxy = await TcpProxy.start({ target: { port: rig.etcd.members[0]!.port } });
}, 30_000);
afterAll(async () => {
  await rig.stop();
  await proxy.stop();
});
afterEach(async () => {
  proxy.heal();
  await proxy.accept();
  await rig.closeAll();
});

const through = (): { hosts: string } => ({ hosts: `127.0.0.1:${proxy.port}` });

describe('a network that swallows everything', () => {
  it('[B-054] [D-49] [I10] both ways or one: the holder loses by its own deadline, before anyone else is granted', async () => {
    await Promise.all((['both', 'up', 'down'] as const).map((direction) => lossBy(direction)));
  }, 30_000);

  async function lossBy(direction: Direction | 'both'): Promise<void> {
    const own = await TcpProxy.start({ target: { port: rig.etcd.members[0]!.port } });
    const [a, b] = [rig.client({ ttlMs: 2_000 }, { hosts: `127.0.0.1:${own.port}` }), rig.client()];
    const key = rig.key();
    const lock = await a.acquire(key);
    const waiting = b.acquire(key, { waitMs: 15_000 });
    await pause(700);
    const startMs = performance.now();
    own.silence(direction);
    let granted = false;
    void waiting.then(() => (granted = true));
    const end = await lock.done;
    expect(end.end === 'lost' && end.reason).toBe('unreachable');
    expect(performance.now() - startMs).toBeLessThan(2_000);
    expect(granted).toBe(false);
    expect((await waiting).fence).toBeGreaterThan(lock.fence);
    await own.stop();
  }

  it('[B-050] [WD-16] a waiter whose heartbeats are blocked is refused by its own deadline while another holds, is never granted, and is not in the way later', async () => {
    const [a, b] = [rig.client({ ttlMs: 10_000 }), rig.client({ ttlMs: 2_000 }, through())];
    const key = rig.key();
    const held = await a.acquire(key);
    const waiting = failure(b.acquire(key, { waitMs: 20_000 }));
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    const startMs = performance.now();
    proxy.silence();
    const error = await waiting;
    expect(performance.now() - startMs).toBeLessThan(3_000);
    expect(isLockError(error, 'LOCK_UNAVAILABLE')).toBe(true);
    expect(held.held).toBe(true);
    await until(async () => (await rig.entries(key)).length === 1, 3_000, 'its entry gone with its lease');
    await held.release();
    const next = await rig.client().tryAcquire(key);
    expect(next).toBeDefined();
    proxy.heal();
    await pause(300);
    expect(await rig.entries(key)).toHaveLength(1);
  }, 20_000);

  it('a short silence is jeopardy and no loss, and ends with the first renewal that gets through', async () => {
    const klock = rig.client({ ttlMs: 2_000 }, through());
    const told: string[] = [];
    klock.on('lease.jeopardy', () => told.push('jeopardy'));
    klock.on('lease.renewed', () => told.push('renewed'));
    const lock = await klock.acquire(rig.key());
    await until(() => told.includes('renewed'), 3_000, 'renewed');
    proxy.silence();
    await until(() => told.includes('jeopardy'), 3_000, 'jeopardy');
    expect(lock.held).toBe(true);
    told.length = 0;
    proxy.heal();
    await until(() => told.includes('renewed'), 3_000, 'renewed again');
    expect(lock.held).toBe(true);
    expect(await lock.release()).toBe('released');
  }, 20_000);
});

describe('a watch', () => {
  it('[B-052] that breaks, and whose revision is compacted before it is back, loses no wake-up: granted within a second of the network', async () => {
    const [a, b] = [rig.client({ ttlMs: 20_000 }), rig.client({ ttlMs: 20_000 }, through())];
    const key = rig.key();
    const lock = await a.acquire(key);
    const waiting = b.acquire(key, { waitMs: 20_000 });
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    await pause(50);
    await proxy.refuse();
    proxy.reset();
    for (let each = 0; each < 100; each++) await rig.admin.put(`elsewhere-${each}`);
    await lock.release();
    await rig.admin.put('elsewhere');
    await rig.admin.compact();
    await pause(300);
    const startMs = performance.now();
    await proxy.accept();
    await waiting;
    expect(performance.now() - startMs).toBeLessThan(1_000);
  }, 20_000);

  it('[B-052] that is swallowed silently is replaced, and the wake-up meanwhile is not lost', async () => {
    const [a, b] = [rig.client({ ttlMs: 20_000 }), rig.client({ ttlMs: 20_000 }, through())];
    const key = rig.key();
    const lock = await a.acquire(key);
    const waiting = b.acquire(key, { waitMs: 20_000 });
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    await pause(50);
    proxy.silence('both', { lost: true });
    await lock.release();
    await pause(1_600);
    const startMs = performance.now();
    proxy.heal();
    await waiting;
    expect(performance.now() - startMs).toBeLessThan(1_500);
  }, 20_000);

  it('[B-052] under load, with compactions and broken connections all the time, wakes every waiter long before its safety look', async () => {
    const key = rig.key();
    // Long leases: a wake-up that only the safety look saves takes seconds.
    const clients = Array.from({ length: 6 }, (_, index) =>
      rig.client({ ttlMs: 20_000 }, index % 2 === 0 ? through() : {}),
    );
    let running = true;
    const weather = (async () => {
      for (let turn = 0; running; turn++) {
        await rig.admin.put('elsewhere');
        await rig.admin.compact();
        if (turn % 5 === 0) proxy.reset();
        await pause(40);
      }
    })();
    const handOvers: number[] = [];
    let lastRelease = performance.now();
    const hold = async (lock: LockHandle): Promise<void> => {
      handOvers.push(performance.now() - lastRelease);
      expect(lock.held).toBe(true);
      await pause(5);
      lastRelease = performance.now();
    };
    await Promise.all(
      clients.map(async (klock) => {
        for (let turn = 0; turn < 12; turn++) await klock.withLock(key, { waitMs: 60_000 }, hold);
      }),
    );
    running = false;
    await weather;
    expect(handOvers).toHaveLength(72);
    expect(Math.max(...handOvers)).toBeLessThan(1_500);
  }, 60_000);
});
