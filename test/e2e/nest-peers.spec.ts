// Failures of other lock packages, by the numbers of the list they were collected in; those not here are titles of other files.
import { createClient } from 'redis';
import { createKlock, memoryDriver, memoryStore, type Klock } from 'klock/core';
import { klockDriver } from 'klock/client';
import { etcdDriver } from 'klock/etcd';
import { LockServer } from 'klock/server';
import { TestKlock } from 'klock/testing';
import { redisDriver, type RedisClientLike } from 'klock/redis';
import { startCompiled } from '../support/compiled-child.js';
import { LockServerProcess } from '../support/lock-server.js';
import { connectIoredis, type TestClient } from '../support/redis-clients.js';
import { startEtcd, startRedis, type RedisServer } from '../support/services/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { rejection, sleep } from './nest-support.js';

describe('a lock of this package, where others fail,', () => {
  let server: LockServer;
  let redis: RedisServer;
  const opened: Klock[] = [];
  const clients: TestClient[] = [];
  beforeAll(async () => {
    server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
    [redis] = await Promise.all([startRedis(), server.start()]);
  }, 60_000);
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((klock) => klock.close()));
    await Promise.all(clients.splice(0).map((client) => client.end()));
  });
  afterAll(async () => {
    await Promise.all([server.close(), redis.stop()]);
  });

  const store = memoryStore();
  const keep = (klock: Klock): Klock => {
    opened.push(klock);
    return klock;
  };
  const overRedis = async (port: number, ttlMs = 10_000): Promise<Klock> => {
    const client = await connectIoredis(port);
    clients.push(client);
    return keep(createKlock({ driver: redisDriver(client.client), ttlMs }));
  };
  const overKlock = (port: number, ttlMs = 10_000): Klock =>
    keep(createKlock({ driver: klockDriver({ url: `klock://127.0.0.1:${port}` }), ttlMs }));
  const open = (kind: string): Klock | Promise<Klock> => {
    if (kind === 'redis') return overRedis(redis.port);
    return kind === 'klock' ? overKlock(server.port) : keep(createKlock({ driver: memoryDriver({ store }) }));
  };

  it.each(['memory', 'klock', 'redis'])(
    '[peers 5] is not freed by the timeout of another caller in the same process: %s',
    async (kind) => {
      const klock = await open(kind);
      const winner = await klock.acquire('five');
      const losers = Array.from({ length: 5 }, () => rejection(klock.acquire('five', { waitMs: 50 })));
      for (const { code } of await Promise.all(losers)) expect(code).toBe('LOCK_TIMEOUT');
      expect(winner.held).toBe(true);
      expect(await (await open(kind)).tryAcquire('five')).toBeUndefined();
      expect(await winner.release()).toBe('released');
    },
  );

  const urlOf = (kind: string): string =>
    ({ klock: `klock://${server.address}`, redis: `redis:${redis.port}` })[kind] ?? kind;

  it.each(['klock', 'redis'])(
    '[peers 6] is told of its loss before its lease can be over, by a clock that only goes on, while the store stands still: %s',
    async (kind) => {
      const frozen = kind === 'redis' ? await startRedis() : await LockServerProcess.start();
      try {
        const klock =
          frozen instanceof LockServerProcess
            ? overKlock(frozen.facts.port, 1_500)
            : await overRedis(frozen.port, 1_500);
        const lock = await klock.acquire('six');
        const told = new Promise<number>((resolve) =>
          lock.signal.addEventListener('abort', () => resolve(performance.now())),
        );
        await sleep(600);
        if (frozen instanceof LockServerProcess) frozen.child.pause();
        else frozen.pause();
        const stopped = performance.now();
        const afterMs = (await told) - stopped;
        expect(lock.held).toBe(false);
        // The last renewal was sent before the store stood still.
        expect(afterMs).toBeLessThan(1_500);
        expect(afterMs).toBeGreaterThan(500);
      } finally {
        if (frozen instanceof LockServerProcess) await frozen.kill();
        else await frozen.stop();
      }
    },
    30_000,
  );

  it.each(['klock', 'redis'])(
    '[peers 7] is had although the first answer was lost, by the same request and without waiting for itself: %s',
    async (kind) => {
      const proxy = await TcpProxy.start({ target: { port: kind === 'redis' ? redis.port : server.port } });
      try {
        const klock = kind === 'redis' ? await overRedis(proxy.port) : overKlock(proxy.port);
        await klock.withLock('warm', () => undefined);
        const fences = new Set<bigint>();
        for (let round = 0; round < 3; round++) {
          proxy.silence('down', { lost: true });
          const asked = performance.now();
          const call = klock.acquire('seven', { waitMs: 9_000 });
          await sleep(100);
          proxy.heal();
          const lock = await call;
          // Its own grant under a lost answer would have stood in its way for a lease of ten seconds.
          expect(performance.now() - asked).toBeLessThan(5_000);
          expect(lock.held).toBe(true);
          fences.add(lock.fence);
          expect(await lock.release()).toBe('released');
        }
        expect(fences.size).toBe(3);
        const other = await open(kind);
        await (await other.acquire('seven', { waitMs: 1_000 })).release();
      } finally {
        await proxy.stop();
      }
    },
    40_000,
  );

  it('[peers 8] is settled between two that ask at the same moment, on an even number of nodes: two members of etcd', async () => {
    const etcd = await startEtcd({ members: 2 });
    try {
      const both = etcd.endpoints.map((host) =>
        keep(createKlock({ driver: etcdDriver({ hosts: [host] }), ttlMs: 5_000 })),
      );
      for (let round = 0; round < 10; round++) {
        const won = await Promise.all(both.map((klock) => klock.tryAcquire('eight')));
        // Both may be refused by neither: somebody always has it.
        expect(won.filter((lock) => lock !== undefined)).toHaveLength(1);
        for (const lock of won) await lock?.release();
      }
    } finally {
      await Promise.all(opened.splice(0).map((klock) => klock.close()));
      await etcd.stop();
    }
  }, 60_000);

  it.each(['ioredis', 'node-redis'])(
    '[peers 12] lives in the database of its client, and finds it again after a lost connection and a restart of Redis: %s',
    async (library) => {
      const inThree = async (database: number): Promise<TestClient> => {
        if (library === 'ioredis') return await connectIoredis(redis.port, { db: database });
        const client = createClient({
          database,
          socket: { host: '127.0.0.1', port: redis.port, reconnectStrategy: () => 50 },
        });
        client.on('error', () => undefined);
        await client.connect();
        return {
          client: client as RedisClientLike,
          command: (...words) => client.sendCommand([...words]),
          end: () => Promise.resolve(client.destroy()),
        };
      };
      const [three, again, zero] = await Promise.all([inThree(3), inThree(3), inThree(0)]);
      clients.push(three, again, zero);
      const [a, b, elsewhere] = [three, again, zero].map(({ client }) =>
        keep(createKlock({ driver: redisDriver(client), waitMs: 5_000 })),
      ) as [Klock, Klock, Klock];
      for (const trouble of ['none', 'connections killed', 'restarted, without its scripts']) {
        if (trouble === 'connections killed')
          await zero.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no').catch(() => undefined);
        if (trouble.startsWith('restarted')) await redis.restart();
        const lock = await a.acquire(['twelve', trouble]);
        expect([trouble, await b.tryAcquire(['twelve', trouble])]).toEqual([trouble, undefined]);
        // Another database is another store.
        const free = await elsewhere.acquire(['twelve', trouble]);
        const waiting = b.acquire(['twelve', trouble]);
        expect(await lock.release()).toBe('released');
        const next = await waiting;
        expect(next.fence).toBeGreaterThan(lock.fence);
        await Promise.all([next.release(), free.release()]);
      }
    },
    40_000,
  );

  it.each([50, 100, 333, 1_500])(
    '[peers 9] with a lease of %i ms is renewed about three times a lease, not more',
    async (ttlMs) => {
      await using locks = new TestKlock({ ttlMs });
      let renewals = 0;
      locks.klock.on('lease.renewed', () => void renewals++);
      const lock = await locks.klock.acquire('nine');
      await locks.advance(100 * ttlMs);
      expect(lock.held).toBe(true);
      expect(renewals).toBeGreaterThanOrEqual(290);
      expect(renewals).toBeLessThanOrEqual(Math.ceil((100 * ttlMs) / Math.floor(ttlMs / 3)));
    },
  );

  it.each(['memory', 'klock', 'redis'])(
    '[peers 10] lets a process end at once that finishes its work between renewals and closes: %s',
    async (kind) => {
      const args = [urlOf(kind)];
      const child = await startCompiled('test/e2e/nest-keys.child.ts', { args });
      void child.call('finish').catch(() => undefined);
      const { at } = await child.event('closed');
      expect(await child.ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - at).toBeLessThan(1_000);
    },
  );

  it.each(['klock', 'redis'])(
    '[peers 13] leaves nothing behind of keys that were used once: %s',
    async (kind) => {
      // Not to be lost on a busy machine while the heap is looked at.
      const args = [urlOf(kind), '5000'];
      const child = await startCompiled('test/e2e/nest-keys.child.ts', { args });
      try {
        await child.call('touch', 0, 2_000);
        const before = await child.call<number>('touch', 2_000, 2_000);
        const after = await child.call<number>('touch', 4_000, 6_000);
        // 6,000 keys of any shape that were kept would be more than this.
        expect(after - before).toBeLessThan(1_000_000);
        expect(server.stats.locks).toBe(0);
      } finally {
        await child.kill();
      }
    },
    60_000,
  );

  it.each(['memory', 'klock', 'redis'])(
    '[peers 15] is shared by eight eager workers within a factor of two: %s',
    async (kind) => {
      const grants = Array<number>(8).fill(0);
      let going = true;
      const worker = async (index: number): Promise<void> => {
        const klock = await open(kind);
        while (going) {
          await klock.withLock('fifteen', () => sleep(1));
          grants[index]!++;
        }
      };
      const workers = grants.map((_, index) => worker(index));
      await sleep(1_500);
      going = false;
      await Promise.all(workers);
      expect(Math.min(...grants)).toBeGreaterThan(5);
      expect(Math.max(...grants)).toBeLessThanOrEqual(2 * Math.min(...grants));
    },
  );
});
