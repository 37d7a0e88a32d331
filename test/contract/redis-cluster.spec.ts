import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import { createKlock, isLockError, type KlockInstance } from 'klock/core';
import { redisDriver, type RedisClientLike } from 'klock/redis';
import { driverContract } from 'klock/testing';
import { createCluster } from 'redis';
import { startRedisCluster, type RedisCluster } from '../support/services/index.js';

/** The whole contract on three masters, with ioredis and node-redis; the suite's keys hold braces and other odd characters. */

interface ClusterClient {
  readonly client: RedisClientLike;
  end(): void;
}

async function ioredisCluster(cluster: RedisCluster, keyPrefix = ''): Promise<ClusterClient> {
  const nodes = cluster.masters.map(({ port }) => ({ host: '127.0.0.1', port }));
  const client = new Cluster(nodes, { lazyConnect: true, clusterRetryStrategy: () => 50, keyPrefix });
  client.on('error', () => undefined);
  await client.connect();
  return { client, end: () => client.disconnect() };
}

async function nodeRedisCluster(cluster: RedisCluster, keyPrefix = ''): Promise<ClusterClient> {
  const client = createCluster({
    rootNodes: cluster.masters.map(({ port }) => ({ socket: { host: '127.0.0.1', port } })),
    defaults: { socket: { reconnectStrategy: () => 50 } },
    keyPrefix,
  });
  client.on('error', () => undefined);
  await client.connect();
  return { client, end: () => client.destroy() };
}

for (const [library, connect] of [
  ['ioredis', ioredisCluster],
  ['node-redis', nodeRedisCluster],
] as const) {
  let cluster: RedisCluster;
  let shared: ClusterClient;
  driverContract(
    {
      name: `redis cluster of 3 masters, ${library}`,
      ttlMs: 300,
      capabilities: redisDriver(new Cluster([], { lazyConnect: true })).capabilities,
      start: async () => {
        cluster = await startRedisCluster();
        shared = await connect(cluster);
      },
      open: () => redisDriver(shared.client),
      stop: async () => {
        shared.end();
        await cluster.stop();
      },
    },
    { describe, it, beforeAll: (body) => beforeAll(body, 30_000), afterAll },
  );
}

describe('[L-66] [WL-09] on a Cluster', () => {
  let cluster: RedisCluster;
  let shared: ClusterClient;
  let klock: KlockInstance;
  beforeAll(async () => {
    cluster = await startRedisCluster();
    shared = await ioredisCluster(cluster);
    klock = createKlock({ driver: redisDriver(shared.client), ttlMs: 5_000 });
  }, 30_000);
  afterAll(async () => {
    await klock.close();
    shared.end();
    await cluster.stop();
  });

  it.each(['{tenant}:x', 'a}b', '{}x', '{', '}', '{}', '}{', '{{a}}', 'a{b', '%7B', 'ключ', 'x y\n'])(
    'all keys of the tree of %j share a slot, whatever characters the key holds',
    async (l1) => {
      const whole = await klock.acquire(l1);
      const waiting = klock.acquire([l1, '{b}'], { waitMs: 5_000 });
      await whole.release();
      const part = await waiting;
      expect(part.fence > whole.fence).toBe(true);
      expect(await part.release()).toBe('released');
    },
  );

  it.each([
    ['ioredis', ioredisCluster, 'x{'],
    ['ioredis', ioredisCluster, '{app}:'],
    ['node-redis', nodeRedisCluster, 'x{'],
  ] as const)(
    'a prefix that the client (%s) puts before every key decides the slots and costs no caller an error',
    async (_, connect, keyPrefix) => {
      const own = await connect(cluster, keyPrefix);
      const other = createKlock({ driver: redisDriver(own.client), ttlMs: 5_000 });
      // So many that some share a slot without the prefix.
      const keys = Array.from({ length: 600 }, (__, at) => `prefixed-${at * 2_654_435_761}`);
      const locks = await Promise.all(keys.map((key) => other.acquire(key)));
      expect(await klock.isLocked(keys[0]!)).toBe(false);
      expect(new Set(await Promise.all(locks.map((lock) => lock.release())))).toEqual(new Set(['released']));
      await other.close();
      own.end();
    },
  );

  it('[peers 12] locks on every master are taken, renewed and freed at once, one script call per slot', async () => {
    const keys = Array.from({ length: 60 }, (_, at) => `spread-${at}`);
    const locks = await Promise.all(keys.map((key) => klock.acquire(key, { ttlMs: 600 })));
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(locks.every((lock) => lock.held)).toBe(true);
    expect(new Set(await Promise.all(locks.map((lock) => lock.release())))).toEqual(new Set(['released']));
  });

  it('[B-040] a SCRIPT FLUSH on every master costs no caller an error', async () => {
    const nodes = (shared.client as Cluster).nodes('master');
    for (let round = 0; round < 5; round++) {
      await Promise.all(nodes.map((node) => node.script('FLUSH')));
      await Promise.all(
        Array.from({ length: 30 }, async (_, at) => {
          const lock = await klock.acquire(`flush-${at}`);
          expect(await lock.release()).toBe('released');
        }),
      );
    }
  });

  it('[I1] [B-047] [B-049] while a slot moves to another master nobody gets what is held there; then it goes on', async () => {
    const nodes = (shared.client as Cluster).nodes('master');
    const [holder, waiter] = [1, 2].map(() =>
      createKlock({ driver: redisDriver(shared.client), ttlMs: 10_000, handover: false }),
    ) as [KlockInstance, KlockInstance];
    const key = 'moving';
    const slot = (await nodes[0]!.call('CLUSTER', 'KEYSLOT', `lock:{${key}}`)) as number;
    const lock = await holder.acquire([key, 'a']);
    const waiting = waiter.acquire([key, 'a'], { waitMs: 20_000 });
    while ((await holder.inspect([key, 'a'])).waiterCount === 0);
    const owner = (shared.client as Cluster).slots[slot]![0]!;
    const from = nodes.find(({ options }) => `${options.host}:${options.port}` === owner)!;
    const to = nodes.find((node) => node !== from)!;
    const id = (node: (typeof nodes)[number]): Promise<string> =>
      node.call('CLUSTER', 'MYID') as Promise<string>;
    await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await id(from));
    await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await id(to));
    // Neither node has all of the tree: nobody may be told that it is free.
    for (const wanted of [key, [key, 'a'], [key, 'b']] as const) {
      const refused = waiter.acquire(wanted, { waitMs: 200 }).catch((error: unknown) => error);
      expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    }
    expect(lock.held).toBe(true);
    const released = lock.release({ timeoutMs: 10_000 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
    const { host = '', port = 0 } = to.options;
    if (keys.length > 0) await from.call('MIGRATE', host, port, '', 0, 5_000, 'KEYS', ...keys);
    const newOwner = await id(to);
    for (const node of nodes) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', newOwner);
    expect(await released).toBe('released');
    const next = await waiting;
    expect(next.fence > lock.fence).toBe(true);
    expect(await next.release()).toBe('released');
    await Promise.all([holder.close(), waiter.close()]);
  }, 30_000);

  it('a master that is down costs its own locks only', async () => {
    const locks = await Promise.all(
      Array.from({ length: 30 }, (_, at) => klock.acquire(`down-${at}`, { ttlMs: 1_500 })),
    );
    cluster.masters[0]!.pause();
    try {
      const ends = await Promise.all(
        locks.map((lock) =>
          Promise.race([
            lock.done,
            new Promise<'held'>((resolve) => setTimeout(() => resolve('held'), 2_200)),
          ]),
        ),
      );
      const lost = ends.filter((end) => end !== 'held');
      expect(lost.length).toBeGreaterThan(3);
      expect(lost.length).toBeLessThan(25);
      for (const end of lost) expect(end).toMatchObject({ end: 'lost', reason: 'unreachable' });
      const tries = await Promise.allSettled(
        Array.from({ length: 12 }, (_, at) => klock.acquire(`other-${at}`, { waitMs: 0 })),
      );
      const refused = tries.filter((each) => each.status === 'rejected');
      expect(refused.length).toBeLessThan(12);
      for (const each of refused) expect(isLockError(each.reason, 'LOCK_UNAVAILABLE')).toBe(true);
    } finally {
      cluster.masters[0]!.resume();
    }
  }, 20_000);
});
