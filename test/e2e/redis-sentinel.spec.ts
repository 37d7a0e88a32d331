import { Redis } from 'ioredis';
import { createKlock, type KlockInstance } from 'klock/core';
import { redisDriver } from 'klock/redis';
import { createSentinel } from 'redis';
import { pause, timed } from '../support/redis-bed.js';
import { startRedisSentinels, type RedisSentinels } from '../support/services/index.js';

/** A failover to a replica that never received the lock, seen through Sentinel. */

interface Holder {
  readonly klock: KlockInstance;
  end(): Promise<void>;
}

async function overIoredis({ sentinels, name }: RedisSentinels): Promise<Holder> {
  const client = new Redis({
    sentinels: [...sentinels],
    name,
    sentinelRetryStrategy: () => 100,
    retryStrategy: () => 100,
  });
  client.on('error', () => undefined);
  const klock = createKlock({ driver: redisDriver(client), ttlMs: 20_000, renewEveryMs: 300 });
  await klock.driver.ready(5_000);
  return {
    klock,
    end: async () => {
      await klock.close({ graceMs: 1 });
      client.disconnect();
    },
  };
}

async function overNodeRedis({ sentinels, name }: RedisSentinels): Promise<Holder> {
  const client = createSentinel({
    name,
    sentinelRootNodes: [...sentinels],
    nodeClientOptions: { socket: { reconnectStrategy: () => 100 } },
    sentinelClientOptions: { socket: { reconnectStrategy: () => 100 } },
    scanInterval: 300,
  });
  client.on('error', () => undefined);
  await client.connect();
  const klock = createKlock({ driver: redisDriver(client), ttlMs: 20_000, renewEveryMs: 300 });
  await klock.driver.ready(5_000);
  return {
    klock,
    end: async () => {
      await klock.close({ graceMs: 1 });
      await client.destroy();
    },
  };
}

let sentinels: RedisSentinels;
let holders: Holder[] = [];
beforeAll(async () => {
  sentinels = await startRedisSentinels();
  holders = [await overIoredis(sentinels), await overNodeRedis(sentinels)];
}, 60_000);
afterAll(async () => {
  await Promise.all(holders.map((holder) => holder.end()));
  await sentinels.stop();
}, 30_000);

it('[B-042] [safety 23] a replica that never received the locks is promoted: every holder is told, nothing is created again, the next fences are larger', async () => {
  const before = await Promise.all(
    holders.map(({ klock }, at) =>
      klock.acquire(`seen-${at}`).then((lock) => lock.release().then(() => lock.fence)),
    ),
  );
  // Cut off, written to on the other side, and put back to follow a primary that is dead by then: stale, as after a partition.
  const replica = new Redis({ host: '127.0.0.1', port: sentinels.replica.port });
  await replica.replicaof('NO', 'ONE');
  const locks = await Promise.all(holders.map(({ klock }, at) => klock.acquire(`lost-${at}`)));
  await sentinels.primary.kill();
  await replica.replicaof('127.0.0.1', sentinels.primary.port);
  replica.disconnect();
  const ends = await Promise.all(locks.map((lock) => lock.done));
  for (const end of ends) expect(end).toMatchObject({ end: 'lost', reason: 'storage-lost' });
  const [a, b] = holders as [Holder, Holder];
  // Each takes what the other had held.
  const next = await Promise.all([
    a.klock.acquire('lost-1', { waitMs: 10_000 }),
    b.klock.acquire('lost-0', { waitMs: 10_000 }),
  ]);
  expect(next[0].fence > locks[1]!.fence).toBe(true);
  expect(next[1].fence > locks[0]!.fence).toBe(true);
  const seen = await a.klock.acquire('seen-0');
  expect(seen.fence > before[0]!).toBe(true);
  expect(locks.some((lock) => lock.held)).toBe(false);
}, 60_000);

it('after the failover waiters are woken as before', async () => {
  const [a, b] = holders as [Holder, Holder];
  const lock = await a.klock.acquire('woken');
  const waiting = timed(b.klock.acquire('woken', { waitMs: 10_000 }));
  await pause(1_500);
  const freedMs = performance.now();
  await lock.release();
  expect((await waiting).value?.held).toBe(true);
  expect(performance.now() - freedMs).toBeLessThan(1_250);
}, 20_000);
