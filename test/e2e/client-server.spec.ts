import type { LockHandle } from '../../lib/core/index.js';
import { LockServer } from '../../lib/server/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { Bench, real, until, type Rig, type RigOptions } from '../support/client-rig.js';
import { sixCallsDriver } from '../support/six-calls-driver.js';
import { scaled, scaleNote } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const bench = new Bench();
afterEach(() => bench.end());

async function lockServer(): Promise<LockServer> {
  const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false, drainMs: 300 });
  await server.start();
  bench.after(() => server.close());
  return server;
}

async function proxied(server: LockServer): Promise<TcpProxy & { url: string }> {
  const proxy = await TcpProxy.start({ target: { port: server.port } });
  bench.after(() => proxy.stop());
  return Object.assign(proxy, { url: `klock://127.0.0.1:${proxy.port}` });
}

const FUZZ = 10;
/** One ping goes after ten seconds. */
const IDLE = 56;

describe.each<[string, NonNullable<RigOptions['driverOf']>]>([
  ['six calls', sixCallsDriver],
  ['a channel', klockDriver],
])('clients and the lock server over %s', (speech, driverOf) => {
  const rig = (url: string, options?: RigOptions): Rig => bench.rig(url, { driverOf, ...options });
  // Over a channel the waits of one client for one key share one place on the server.
  const shared = speech === 'a channel';

  it('[K-149] exclude each other, L1 against L2 both ways, and hand over with rising fences', async () => {
    const { address } = await lockServer();
    const [a, b] = [rig(address).klock, rig(`grpc://${address}`).klock];
    const first = await a.acquire(['t', 'r']);
    expect(await b.tryAcquire(['t', 'r'])).toBeUndefined();
    expect(await b.tryAcquire('t')).toBeUndefined();
    const free = await b.acquire(['t', 'other']);
    await expect(b.acquire(['t', 'r'], { waitMs: 60 })).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    const waiting = b.acquire('t', { waitMs: 3_000 });
    await free.release();
    expect(await first.release()).toBe('released');
    const whole = await waiting;
    expect(whole.fence).toBeGreaterThan(first.fence);
    expect(await a.tryAcquire(['t', 'x'])).toBeUndefined();
  });

  it('[B-003] gives one of two concurrent acquires of one client the lock', async () => {
    const { address } = await lockServer();
    const { klock } = rig(address);
    const [a, b] = await Promise.all([klock.tryAcquire('order:1'), klock.tryAcquire('order:1')]);
    expect([a, b].filter((lock) => lock !== undefined)).toHaveLength(1);
    expect((a ?? b)?.token).toMatch(/^lk_[0-9a-f]{32}$/);
  });

  it('[B-002] keep the successor’s lock when the late holder releases', async () => {
    const { address } = await lockServer();
    const [a, b, c] = [rig(address).klock, rig(address).klock, rig(address).klock];
    const late = await a.acquire('k', { ttlMs: 300, renew: false });
    await real(400);
    const successor = await b.acquire('k', { ttlMs: 5_000 });
    const left = successor.remainingMs;
    expect(await late.release()).toBe('lost');
    expect(successor.held).toBe(true);
    expect(Math.abs(successor.remainingMs - left)).toBeLessThan(500);
    expect(await c.tryAcquire('k')).toBeUndefined();
    expect(successor.fence).toBeGreaterThan(late.fence);
  });

  it('[B-025] [B-032] a waiter whose signal aborts leaves the queue at once and the next one is served', async () => {
    const server = await lockServer();
    const [a, b, c] = [rig(server.address).klock, rig(server.address).klock, rig(server.address).klock];
    const holder = await a.acquire('k');
    const controller = new AbortController();
    const gone = b.acquire('k', { waitMs: 60_000, signal: controller.signal });
    await until(() => server.stats.waiters === 1);
    const next = c.acquire('k', { waitMs: 60_000 });
    await until(() => server.stats.waiters === 2);
    const aborted = performance.now();
    controller.abort(new Error('r'));
    await expect(gone).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    expect(performance.now() - aborted).toBeLessThan(50);
    await until(() => server.stats.waiters === 1, 500);
    await holder.release();
    expect((await next).held).toBe(true);
  });

  it('keep their place in the queue over short attempts (WK-22)', async () => {
    const server = await lockServer();
    const [a, b, c] = [rig(server.address).klock, rig(server.address).klock, rig(server.address).klock];
    const holder = await a.acquire('k');
    const order: string[] = [];
    const patient = b.acquire('k', { waitMs: 10_000, attemptMs: 300 }).then(async (lock) => {
      order.push('first');
      await lock.release();
    });
    await until(() => server.stats.waiters === 1);
    const later = c.acquire('k', { waitMs: 10_000 }).then((lock) => {
      order.push('second');
      return lock.release();
    });
    // In the middle of the second attempt: between two, a place is kept but not served.
    await real(450);
    await holder.release();
    await Promise.all([patient, later]);
    expect(order).toEqual(['first', 'second']);
  });

  it('[K-160] a wait that ended while its connection broke costs no other lock and leaves nothing behind', async () => {
    const server = await lockServer();
    const proxy = await proxied(server);
    const { klock, lost } = rig(proxy.url, { instance: { ttlMs: 20_000, handover: false } });
    const { klock: other } = rig(server.address);
    const busy = await other.acquire('busy');
    const mine = await klock.acquire('mine');
    const controller = new AbortController();
    const waits = [
      klock.acquire('busy', { waitMs: 1_500 }),
      klock.acquire('busy', { waitMs: 60_000, signal: controller.signal }),
    ];
    const ends = Promise.allSettled(waits);
    await until(() => server.stats.waiters === (shared ? 1 : 2));
    await real(20);
    proxy.reset();
    controller.abort();
    expect(
      (await ends).map((end) => end.status === 'rejected' && (end.reason as { code: string }).code),
    ).toEqual(['LOCK_TIMEOUT', 'LOCK_ABORTED']);
    await busy.release();
    const next = await other.acquire('busy', { waitMs: 1_000 });
    expect(next.held).toBe(true);
    // The ids are spent after the server has forgotten their place: then only the two real locks are there.
    await real(1_800);
    expect(server.stats.locks).toBe(2);
    expect(mine.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[K-170] survive resets of their connections without losing a lock', async () => {
    const server = await lockServer();
    const proxy = await proxied(server);
    const { klock, lost } = rig(proxy.url, { instance: { ttlMs: 2_000 } });
    const lock = await klock.acquire('k');
    for (let round = 0; round < 6; round++) {
      proxy.reset();
      const passing = await klock.acquire(`p${round}`, { waitMs: 3_000 });
      expect(await passing.release({ timeoutMs: 3_000 })).toBe('released');
      await real(100);
    }
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
  });

  it('[B-017] a reply that comes late leaves less of the lease, never more than the server grants', async () => {
    const server = await lockServer();
    const proxy = await proxied(server);
    const { klock } = rig(proxy.url, { instance: { ttlMs: 1_000, renew: false } });
    proxy.setWeather({ latencyMs: 170 });
    const lock = await klock.acquire('k2', { waitMs: 5_000 });
    expect(lock.remainingMs).toBeLessThanOrEqual(900);
    proxy.setWeather({ latencyMs: 0 });
  });

  it('[K-176] [K-157] a drain tells the holders, and a retrying acquire ends up on the next server', async () => {
    const first = await lockServer();
    const { port } = first;
    const { klock, lost } = rig(first.address);
    const lock = await klock.acquire('k');
    const closing = first.close();
    await until(() => lost.length === 1);
    expect(lost[0]).toMatchObject({ reason: 'session-gone', code: 'SESSION_GONE' });
    expect(lock.held).toBe(false);
    const waiting = klock.acquire('k', { waitMs: 8_000 });
    await closing;
    const second = new LockServer({ address: `127.0.0.1:${port}`, rateLimit: false, drainMs: 100 });
    await second.start();
    bench.after(() => second.close());
    expect((await waiting).held).toBe(true);
  }, 15_000);

  it(`[B-020] a wait that ends at the very moment of the grant is either held or free, never both or neither${scaleNote(FUZZ)}`, async () => {
    const seed = 7_919;
    let random = seed;
    const next = (): number => (random = (random * 48_271) % 2_147_483_647) / 2_147_483_647;
    const { address } = await lockServer();
    const [a, b] = [rig(address).klock, rig(address).klock];
    for (let round = 0; round < scaled(1_000, FUZZ); round++) {
      const holder = await a.acquire('k', { waitMs: 3_000 });
      const wait = b.acquire('k', { waitMs: 20 }).catch((error: { code: string }) => error);
      await real(17 + next() * 6);
      await holder.release();
      const end = await wait;
      if ('code' in end) {
        if (end.code !== 'LOCK_TIMEOUT') throw new Error(`seed ${seed}, round ${round}: ${end.code}`);
      } else {
        const lock: LockHandle = end;
        if (!lock.held) throw new Error(`seed ${seed}, round ${round}: granted, not held`);
        await lock.release();
      }
      const after = await a.acquire('k', { waitMs: 1_000 }).catch(() => undefined);
      if (after === undefined) throw new Error(`seed ${seed}, round ${round}: not free`);
      await after.release();
    }
  }, 120_000);

  it(`[B-019] a released lock is free at once, whatever renewals are under way${scaleNote(FUZZ)}`, async () => {
    const seed = 104_729;
    let random = seed;
    const next = (): number => (random = (random * 48_271) % 2_147_483_647) / 2_147_483_647;
    const server = await lockServer();
    const proxy = await proxied(server);
    const { klock, lost } = rig(proxy.url, { instance: { ttlMs: 900, renewEveryMs: 15 } });
    const { klock: other } = rig(server.address);
    for (let round = 0; round < scaled(1_000, FUZZ); round++) {
      const lock = await klock.acquire('k', { waitMs: 2_000 });
      if (round % 4 > 0) await real(next() * 12);
      const outcome = await lock.release();
      const taken = await other.tryAcquire('k');
      if (outcome !== 'released' || taken === undefined)
        throw new Error(`seed ${seed}, round ${round}: ${outcome}`);
      await taken.release();
    }
    expect(lost).toHaveLength(0);
  }, 120_000);
});

describe('an idle client', () => {
  it(`[B-028] pings an idle connection as the server allows: it is never told to calm down${scaleNote(IDLE)}`, async () => {
    const server = await lockServer();
    const proxy = await proxied(server);
    const { klock, lost } = bench.rig(proxy.url, { instance: { ttlMs: 30_000 } });
    const lock = await klock.acquire('k');
    await until(() => server.counters.active_watchers === 1);
    await real(scaled(600_000, IDLE));
    // A GOAWAY would have cost the connection, and the watch on it.
    expect(server.counters.stream_calls).toBe(1);
    expect(server.counters.active_watchers).toBe(1);
    expect(proxy.connections).toBe(1);
    expect(lock.held).toBe(true);
    expect(lost).toHaveLength(0);
  }, 700_000);
});
