import { ENTER_SECTION } from '../../lib/core/section.js';
import type { LockServer } from '../../lib/server/index.js';
import { ChannelBench } from '../support/channel-bench.js';
import { real, until } from '../support/client-rig.js';
import { ScriptedLockServer } from '../support/scripted-lock-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const bench = new ChannelBench({ ttlMs: 2_000 });

async function proxyTo(server: LockServer): Promise<TcpProxy> {
  const proxy = await TcpProxy.start({ target: { port: server.port } });
  bench.onEnd(() => proxy.stop());
  return proxy;
}

describe('inspect over a channel', () => {
  it('[K-185] names holders with their label and metadata, and waiters of everybody', async () => {
    const server = await bench.lockServer();
    const klock = bench.client(server.port, { clientName: 'billing' });
    const other = bench.client(server.port, { clientName: 'audit' });
    const held = await klock.acquire(['t', 'a'], { metadata: { job: 'x' } });
    const waiting = other.acquire('t');
    await until(() => server.stats.waiters === 1);
    const report = await other.inspect('t');
    expect(report).toMatchObject({ key: ['t'], locked: true, waiterCount: 1 });
    expect(report.holders).toMatchObject([
      { key: ['t', 'a'], fence: held.fence, client: 'billing', metadata: { job: 'x' } },
    ]);
    expect(report.waiters).toMatchObject([{ key: ['t'], client: 'audit' }]);
    await held.release();
    await (await waiting).release();
    expect(await klock.inspect('t')).toMatchObject({ locked: false, holders: [], waiterCount: 0 });
  });
});

describe('atLeastMs over a channel', () => {
  it('[K-189] keeps the key after the release, without the client, and then frees it', async () => {
    const server = await bench.lockServer();
    const klock = bench.client(server.port);
    const other = bench.client(server.port);
    await (await klock[ENTER_SECTION]('k', { atLeastMs: 400 })).leave();
    await klock.close();
    expect(server.stats).toMatchObject({ sessions: 0, locks: 0, kept: 1 });
    expect(await other.tryAcquire('k')).toBeUndefined();
    expect((await other.acquire('k', { waitMs: 2_000 })).held).toBe(true);
  });
});

describe('a server without channels', () => {
  it('[K-141] is spoken to with the six calls, and asked for a channel once', async () => {
    const server = await ScriptedLockServer.start();
    bench.onEnd(() => server.stop());
    const klock = bench.client(Number(new URL(`tcp://${String(server.url).split('//').at(-1)}`).port));
    for (const key of ['a', 'b', 'c']) await (await klock.acquire(key)).release();
    expect(server.seen('CreateSession')).toHaveLength(1);
    expect(server.seen('Acquire')).toHaveLength(3);
    expect(server.seen('Release')).toHaveLength(3);
  });

  it('inspect and atLeastMs fail when called, with an error that says why', async () => {
    const server = await ScriptedLockServer.start();
    bench.onEnd(() => server.stop());
    const klock = bench.client(Number(new URL(`tcp://${String(server.url).split('//').at(-1)}`).port));
    await expect(klock[ENTER_SECTION]('k', { atLeastMs: 100 })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option: 'atLeastMs',
    });
    await expect(klock.inspect('k')).rejects.toMatchObject({ code: 'BACKEND_MISCONFIGURED' });
    expect(server.seen('Acquire')).toHaveLength(0);
  });
});

describe('a channel whose stream breaks', () => {
  it('[K-170] is resumed: the lock stays held, a release under way is made, and nobody is told of a loss', async () => {
    const server = await bench.lockServer();
    const proxy = await proxyTo(server);
    const klock = bench.client(proxy.port);
    const lost: unknown[] = [];
    klock.on('lock.lost', (event) => lost.push(event));
    const kept = await klock.acquire('kept');
    for (let round = 0; round < 5; round++) {
      const lock = await klock.acquire(`k${round}`);
      const released = lock.release();
      proxy.reset();
      expect(await released).toBe('released');
    }
    expect([kept.held, lost, server.stats.sessions, server.stats.locks]).toEqual([true, [], 1, 1]);
  });

  it('[K-165] its waiter keeps the place: it is granted before one that came later', async () => {
    const server = await bench.lockServer();
    const proxy = await proxyTo(server);
    const [early, holder, late] = [
      bench.client(proxy.port),
      bench.client(server.port),
      bench.client(server.port),
    ];
    await early.acquire('warm');
    const lock = await holder.acquire('k');
    const order: string[] = [];
    const first = early.acquire('k').then((won) => (order.push('early'), won));
    await until(() => server.stats.waiters === 1);
    const second = late.acquire('k').then((won) => (order.push('late'), won));
    await until(() => server.stats.waiters === 2);
    proxy.reset();
    await until(() => server.stats.detached === 1 || server.stats.waiters === 2);
    await real(200);
    await lock.release();
    await (await first).release();
    await second;
    expect(order).toEqual(['early', 'late']);
  });

  it('[K-165] while it is broken its waiter blocks nobody', async () => {
    const server = await bench.lockServer();
    const proxy = await proxyTo(server);
    const [gone, holder, late] = [
      bench.client(proxy.port),
      bench.client(server.port),
      bench.client(server.port),
    ];
    await gone.acquire('warm');
    const lock = await holder.acquire('k');
    const first = gone.acquire('k', { waitMs: 5_000 }).catch((error: unknown) => error);
    await until(() => server.stats.waiters === 1);
    await proxy.refuse();
    proxy.reset();
    await until(() => server.stats.detached === 1);
    await lock.release();
    expect((await late.acquire('k', { waitMs: 1_000 })).held).toBe(true);
    await proxy.accept();
    await late.close();
    expect(await first).toMatchObject({ held: true });
  });

  it('[B-014] silently, the lock is lost on the client before the server gives it to another', async () => {
    const server = await bench.lockServer();
    const proxy = await proxyTo(server);
    const klock = bench.client(proxy.port, { ttlMs: 600 });
    const other = bench.client(server.port);
    const lock = await klock.acquire('k');
    const lost = new Promise<number>((resolve) => klock.on('lock.lost', () => resolve(performance.now())));
    proxy.silence();
    const next = other.acquire('k').then((won) => [performance.now(), won.held] as const);
    const [lostAtMs, [grantedAtMs, held]] = await Promise.all([lost, next]);
    expect([lock.held, held, lostAtMs <= grantedAtMs]).toEqual([false, true, true]);
    proxy.heal();
  });

  it('[K-182] what the old connection still delivers after the resume changes nothing', async () => {
    const server = await bench.lockServer();
    const proxy = await proxyTo(server);
    const klock = bench.client(proxy.port, { ttlMs: 4_000, renewEveryMs: 150, renewTimeoutMs: 150 });
    const kept = await klock.acquire('kept');
    proxy.silence('up');
    const under = klock.acquire('under-way');
    // The client declares the connection dead and comes back over another; then the old one delivers.
    await real(700);
    proxy.heal();
    const lock = await under;
    await real(300);
    expect([kept.held, lock.held, server.stats.locks, server.stats.sessions]).toEqual([true, true, 2, 1]);
    expect(await lock.release()).toBe('released');
    expect(server.stats.locks).toBe(1);
  });
});

describe('giving up over a channel', () => {
  it('[B-025] an aborted wait is over at once, and the server knows it', async () => {
    const server = await bench.lockServer();
    const [holder, klock] = [bench.client(server.port), bench.client(server.port, { handover: false })];
    const lock = await holder.acquire('k');
    const controller = new AbortController();
    const waits = Array.from({ length: 50 }, () =>
      klock.acquire('k', { signal: controller.signal }).catch((error: { code: string }) => error.code),
    );
    await until(() => server.stats.waiters === 50);
    controller.abort();
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['LOCK_ABORTED']));
    await until(() => server.stats.waiters === 0);
    await lock.release();
    expect(server.stats.locks).toBe(0);
  });

  it('[I7] an abort that crosses its grant leaves nothing held', async () => {
    const server = await bench.lockServer();
    const klock = bench.client(server.port, { handover: false });
    for (let round = 0; round < 100; round++) {
      const controller = new AbortController();
      const wait = klock.acquire('k', { signal: controller.signal }).then(
        (lock) => lock.release(),
        () => undefined,
      );
      if (round % 3 === 0) await Promise.resolve();
      else if (round % 3 === 1) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await wait;
    }
    await until(() => server.stats.locks === 0 && server.stats.waiters === 0);
  });

  it('cancelling ten times as many waiters takes about ten times as long', async () => {
    const server = await bench.lockServer();
    const [holder, klock] = [
      bench.client(server.port, { ttlMs: 20_000 }),
      bench.client(server.port, { handover: false, ttlMs: 20_000 }),
    ];
    await holder.acquire('k');
    const cancelMs = async (count: number): Promise<number> => {
      const controller = new AbortController();
      const { signal } = controller;
      const waits = Array.from({ length: count }, () =>
        klock.acquire('k', { signal }).catch(() => undefined),
      );
      await until(() => server.stats.waiters === count, 10_000);
      const startedMs = performance.now();
      controller.abort();
      await Promise.all(waits);
      await until(() => server.stats.waiters === 0, 10_000);
      return performance.now() - startedMs;
    };
    await cancelMs(1_000);
    const small = await cancelMs(1_000);
    const large = await cancelMs(10_000);
    // Quadratic would be a hundred times.
    expect(large / small).toBeLessThan(30);
  }, 60_000);
});
