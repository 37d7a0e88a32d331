import { Injectable, Module } from '@nestjs/common';
import {
  CurrentLock,
  InjectKlock,
  KlockModule,
  Locked,
  type Klock,
  type KlockModuleOptions,
  type LockHandle,
} from 'klock';
import { connectIoredis, connectNodeRedis, type TestClient } from '../support/redis-clients.js';
import { startEtcd, startRedis, type EtcdCluster, type RedisServer } from '../support/services/index.js';
import { rejection, sleep, start } from './nest-support.js';

@Injectable()
class Stock {
  constructor(@InjectKlock() readonly klock: Klock) {}

  @Locked('stock', 'screws', { waitMs: 5_000 })
  async take(inside: { count: number; most: number }, @CurrentLock() lock?: LockHandle): Promise<bigint> {
    inside.most = Math.max(inside.most, (inside.count += 1));
    await sleep(5);
    inside.count -= 1;
    if (lock?.held !== true) throw new Error('ran unlocked');
    return lock.fence;
  }
}

/** Two applications over one store, each called several times at once. */
async function takeFromTwo(options: () => KlockModuleOptions): Promise<{ most: number; fences: bigint[] }> {
  const apps = await Promise.all([options(), options()].map((given) => start(appOf(given))));
  const inside = { count: 0, most: 0 };
  try {
    const stocks = apps.map((app) => app.get(Stock));
    const calls = Array.from({ length: 8 }, (_, i) => stocks[i % 2]!.take(inside));
    const fences = await Promise.all(calls);
    return { most: inside.most, fences };
  } finally {
    await Promise.all(apps.map((app) => app.close()));
  }
}

function appOf(options: KlockModuleOptions): new () => object {
  @Module({ imports: [KlockModule.forRoot(options)], providers: [Stock] })
  class App {}
  return App;
}

function expectExclusion({ most, fences }: { most: number; fences: bigint[] }): void {
  expect(most).toBe(1);
  expect(new Set(fences).size).toBe(8);
}

describe('KlockModule over a Redis of the application', () => {
  let redis: RedisServer;
  const clients: TestClient[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    clients.push(await connectIoredis(redis.port), await connectNodeRedis(redis.port));
  }, 60_000);
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await redis.stop();
  });

  it('[peers 11] excludes between two applications and two kinds of client, and never closes the clients', async () => {
    let next = 0;
    const options = () =>
      ({ redis: clients[next++ % 2]!.client, prefix: 'app:', fencing: 'required' }) as const;
    expectExclusion(await takeFromTwo(options));
    for (const client of clients) expect(await client.command('PING')).toBe('PONG');
    const names = (await clients[0]!.command('KEYS', '*')) as string[];
    expect(names.filter((name) => !name.startsWith('app:'))).toEqual([]);
  });

  it('does not run the body while Redis is down', async () => {
    const app = await start(appOf({ redis: clients[0]!.client, waitMs: 300 }));
    await redis.kill();
    const inside = { count: 0, most: 0 };
    expect(await rejection(app.get(Stock).take(inside))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(inside.most).toBe(0);
    await app.close();
    await redis.restart();
  }, 30_000);
});

describe('KlockModule over an etcd cluster', () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  }, 60_000);
  afterAll(() => etcd.stop());

  it('excludes between two applications', async () => {
    expectExclusion(await takeFromTwo(() => ({ etcd: { hosts: etcd.endpoints }, ttlMs: 2_000 })));
  }, 30_000);
});
