import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createKlock, isLockError, type KlockInstance, type LockHandle } from 'klock/core';
import { redisDriver } from 'klock/redis';
import { createClient } from 'redis';
import { RedisBed, pause, timed } from '../support/redis-bed.js';
import { connectIoredis, connectNodeRedis } from '../support/redis-clients.js';
import { long, scaleNote, scaled } from '../support/scale.js';
import { startRedis } from '../support/services/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** A server that forgets its scripts, dies, comes back empty, refuses, or is not there at all. */

let bed: RedisBed;
beforeAll(async () => {
  bed = await RedisBed.start();
}, 30_000);
afterAll(() => bed.stop());
afterEach(() => bed.closeClients());

const nameOf = (key: string): string => `lock:{${key}}`;
const codeOf = (error: unknown): string => (isLockError(error) ? error.code : String(error));

describe('[B-040] a server that forgets scripts', () => {
  it('[peers 12] is taught again within the same call: acquire, renew, inspect and release after SCRIPT FLUSH', async () => {
    const klock = await bed.open({ ttlMs: 600 });
    const key = bed.key();
    await bed.admin.script('FLUSH');
    const lock = await klock.acquire(key);
    await bed.admin.script('FLUSH');
    await lock.extend();
    await bed.admin.script('FLUSH');
    expect(await klock.isLocked(key)).toBe(true);
    await bed.admin.script('FLUSH');
    expect(await lock.release()).toBe('released');
    await bed.admin.script('FLUSH');
    expect(await klock.driver.health()).toMatchObject({ state: 'ok' });
  });

  it.each(['ioredis with auto-pipelining', 'node-redis'])(
    `under load, flushed every 50 ms, costs no caller an error: %s${scaleNote(10)}`,
    async (library) => {
      const client =
        library === 'node-redis'
          ? await connectNodeRedis(bed.server.port)
          : await connectIoredis(bed.server.port, { enableAutoPipelining: true });
      const klock = createKlock({ driver: redisDriver(client.client), handover: false });
      const flushing = setInterval(() => void bed.admin.script('FLUSH'), 50);
      const endMs = performance.now() + scaled(10_000, 10);
      let pairs = 0;
      const work = async (worker: number): Promise<void> => {
        for (let turn = 0; performance.now() < endMs; turn++) {
          const lock = await klock.acquire(`flush-${worker % 4}-${turn % 3}`, { waitMs: 5_000 });
          expect(await lock.release()).toBe('released');
          pairs++;
        }
      };
      await Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)));
      clearInterval(flushing);
      expect(pairs).toBeGreaterThan(100);
      await klock.close();
      await client.end();
    },
    30_000,
  );
});

describe('a server that dies', () => {
  it('[B-042] [B-004] [L-44] [I3] and comes back empty: the holder hears storage-lost, the next grant has a larger fence', async () => {
    const own = await RedisBed.start();
    try {
      const [a, b] = [await own.open({ ttlMs: 6_000, renewEveryMs: 300 }), await own.open()];
      const key = own.key();
      const lock = await a.acquire(key);
      await own.server.restart();
      const end = await lock.done;
      expect(end).toMatchObject({ end: 'lost', reason: 'storage-lost', code: 'STORAGE_LOST' });
      expect(await own.admin.exists(nameOf(key))).toBe(0);
      const next = await b.acquire(key, { waitMs: 3_000 });
      expect(next.fence > lock.fence).toBe(true);
    } finally {
      await own.stop();
    }
  }, 20_000);

  it('[B-004] with its data kept, the lock is held on over the restart and fences rise', async () => {
    const own = await RedisBed.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    try {
      const klock = await own.open({ ttlMs: 6_000, renewEveryMs: 300 });
      const key = own.key();
      const lock = await klock.acquire(key);
      await own.server.restart();
      await pause(700);
      expect(lock.held).toBe(true);
      expect(await lock.release()).toBe('released');
      const again = await klock.acquire(key);
      expect(again.fence > lock.fence).toBe(true);
    } finally {
      await own.stop();
    }
  }, 20_000);

  it('[B-049] with a waiter in line, who is granted once it is back', async () => {
    const own = await RedisBed.start();
    try {
      const [a, b] = [await own.open({ ttlMs: 20_000 }), await own.open()];
      const key = own.key();
      await a.acquire(key, { renew: false });
      const waiting = timed(b.acquire(key, { waitMs: 30_000 }));
      await pause(50);
      await own.server.restart();
      const backMs = performance.now();
      expect((await waiting).value?.held).toBe(true);
      expect(performance.now() - backMs).toBeLessThan(2_500);
    } finally {
      await own.stop();
    }
  }, 20_000);
});

describe('[B-045] a Redis that is not there', () => {
  const settlesInTime = async (klock: KlockInstance, code: string): Promise<void> => {
    for (const [waitMs, limitMs] of [
      [0, 1_150],
      [300, 1_450],
    ] as const) {
      const { ms, error } = await timed(klock.acquire('k', { waitMs }));
      expect(codeOf(error)).toBe(code);
      expect(ms).toBeLessThan(limitMs);
    }
    const ready = await timed(klock.driver.ready(300));
    expect(codeOf(ready.error)).toBe(code);
    expect(ready.ms).toBeLessThan(1_000);
  };

  const refusesInTime = async (klock: KlockInstance): Promise<void> => {
    const { ms, error } = await timed(klock.acquire('k', { waitMs: 3_000 }));
    expect(codeOf(error)).toBe('BACKEND_MISCONFIGURED');
    expect(ms).toBeLessThan(500);
    expect(await klock.driver.health()).toMatchObject({ state: 'misconfigured' });
  };

  it.each([
    ['refuses connections', { host: '127.0.0.1', port: 1 }],
    ['has a name nobody knows', { host: 'nowhere.invalid', port: 6379 }],
  ])(
    'at boot: one that %s answers every call in time with LOCK_UNAVAILABLE',
    async (_, where) => {
      const io = new Redis({ ...where, retryStrategy: () => 30 });
      io.on('error', () => undefined);
      const overIo = createKlock({ driver: redisDriver(io) });
      await settlesInTime(overIo, 'LOCK_UNAVAILABLE');
      await overIo.close();
      io.disconnect();
      const node = createClient({ socket: { ...where, reconnectStrategy: () => 30 } });
      node.on('error', () => undefined);
      node.connect().catch(() => undefined);
      const overNode = createKlock({ driver: redisDriver(node) });
      await settlesInTime(overNode, 'LOCK_UNAVAILABLE');
      await overNode.close();
      node.destroy();
    },
    20_000,
  );

  it('at boot: a black hole answers every call in time with LOCK_UNAVAILABLE', async () => {
    const proxy = await TcpProxy.start({ target: { port: bed.server.port } });
    proxy.silence();
    const io = new Redis({ host: '127.0.0.1', port: proxy.port });
    io.on('error', () => undefined);
    const klock = createKlock({ driver: redisDriver(io) });
    await settlesInTime(klock, 'LOCK_UNAVAILABLE');
    expect(await klock.driver.health()).toMatchObject({ state: 'unreachable' });
    await klock.close();
    io.disconnect();
    await proxy.stop();
  }, 20_000);

  it('with wrong credentials every call ends with BACKEND_MISCONFIGURED', async () => {
    const own = await startRedis();
    const setUp = new Redis({ host: '127.0.0.1', port: own.port });
    await setUp.config('SET', 'requirepass', 'right');
    setUp.disconnect();
    for (const password of [undefined, 'wrong']) {
      const io = new Redis({
        host: '127.0.0.1',
        port: own.port,
        retryStrategy: () => 50,
        ...(password && { password }),
      });
      const overIo = createKlock({ driver: redisDriver(io) });
      await refusesInTime(overIo);
      await overIo.close();
      io.on('error', () => undefined);
      io.disconnect();
      const node = createClient({
        socket: { host: '127.0.0.1', port: own.port, reconnectStrategy: () => 50 },
        ...(password && { password }),
      });
      const overNode = createKlock({ driver: redisDriver(node) });
      node.connect().catch(() => undefined);
      await refusesInTime(overNode);
      await overNode.close();
      node.on('error', () => undefined);
      node.destroy();
    }
    await own.stop();
  }, 20_000);

  it('killed with a hundred acquires in flight and a hundred idle: all settle, the process hears one event per change, and it goes on after', async () => {
    const own = await RedisBed.start();
    try {
      const klock = await own.open({ ttlMs: 2_000 });
      const states: string[] = [];
      klock.on('store.unavailable', () => void states.push('down'));
      klock.on('store.available', () => void states.push('up'));
      const idle = await Promise.all(Array.from({ length: 100 }, () => klock.acquire(own.key())));
      const waiting = Array.from({ length: 100 }, () => timed(klock.acquire(own.key(), { waitMs: 800 })));
      await own.server.kill();
      const settled = await Promise.all(waiting);
      for (const { ms, error, value } of settled) {
        expect(ms).toBeLessThan(1_900);
        if (value === undefined) expect(codeOf(error)).toBe('LOCK_UNAVAILABLE');
      }
      const ends = await Promise.all(idle.map((lock) => lock.done));
      expect(ends.every((end) => end.end === 'lost' && end.reason === 'unreachable')).toBe(true);
      await own.server.restart();
      expect((await klock.acquire(own.key(), { waitMs: 5_000 })).held).toBe(true);
      expect(states).toEqual(['down', 'up']);
    } finally {
      await own.stop();
    }
  }, 30_000);
});

/** Asks for saves until the last one ended like this. */
async function saved({ admin }: RedisBed, status: 'ok' | 'err'): Promise<void> {
  for (let left = 100; left > 0; left--) {
    await admin.bgsave().catch(() => undefined);
    await pause(50);
    if ((await admin.info('persistence')).includes(`rdb_last_bgsave_status:${status}`)) return;
  }
  throw new Error(`no save ended with ${status}`);
}

describe('[B-047] a server that refuses', () => {
  const limited = async (...rules: string[]): Promise<{ klock: KlockInstance; end: () => Promise<void> }> => {
    await bed.admin.call('ACL', 'SETUSER', 'limited', 'reset', 'on', '>secret', '+@all', ...rules);
    const client = await connectIoredis(bed.server.port, { username: 'limited', password: 'secret' });
    const klock = createKlock({ driver: redisDriver(client.client) });
    return {
      klock,
      end: async () => {
        await klock.close();
        await client.end();
      },
    };
  };

  it.each([
    ['may not run scripts', ['~*', '&*', '-eval', '-evalsha'], 'evalsha'],
    [
      'may not touch the fence',
      ['~lock:{*}', '~lock:{*}:queue', '~lock:{*}:gone', '~lock:{*}:below', '&*'],
      'key',
    ],
    ['may not touch any key', ['&*'], 'key'],
  ])('for good: a user that %s ends the call at once with BACKEND_MISCONFIGURED', async (_, rules, named) => {
    const { klock, end } = await limited(...rules);
    const { ms, error } = await timed(klock.acquire('free', { waitMs: 5_000 }));
    expect(codeOf(error)).toBe('BACKEND_MISCONFIGURED');
    expect((error as Error).message.toLowerCase()).toContain(named);
    expect(ms).toBeLessThan(200);
    expect(isLockError(error) && error.retryable).toBe(false);
    await end();
  });

  it('only to be heard: a user that may not publish, or not look at the server, works with one warning', async () => {
    const { klock, end } = await limited('~*', 'resetchannels', '-info');
    const warnings: string[] = [];
    klock.on('warning', ({ code }) => void warnings.push(code));
    for (let turn = 0; turn < 3; turn++) await (await klock.acquire(bed.key())).release();
    expect(warnings.sort()).toEqual(['REDIS_NOT_CHECKED', 'REDIS_NO_PUBLISH']);
    // Nobody can be woken: the slow check behind the messages finds the free key.
    const key = bed.key();
    const other = await bed.open();
    const lock = await other.acquire(key);
    const waiting = timed(klock.acquire(key, { waitMs: 5_000 }));
    await pause(50);
    await lock.release();
    expect((await waiting).value?.held).toBe(true);
    expect((await waiting).ms).toBeLessThan(1_500);
    await end();
  });

  it('for now: without memory and on a busy key the call waits and says why; the four are told apart by code', async () => {
    const klock = await bed.open();
    await klock.driver.ready(1_000);
    await bed.admin.config('SET', 'maxmemory', '1');
    const full = await timed(klock.acquire(bed.key(), { waitMs: 100 }));
    await bed.admin.config('SET', 'maxmemory', '0');
    expect(full.error).toMatchObject({ code: 'LOCK_UNAVAILABLE', storeCode: 'OOM', retryable: true });
    expect((full.error as Error).message).toContain('maxmemory');
    const key = bed.key();
    await (await bed.open()).acquire(key);
    const busy = await timed(klock.acquire(key, { waitMs: 100 }));
    expect(busy.error).toMatchObject({ code: 'LOCK_TIMEOUT', retryable: true });
  });

  it('for now: while saves fail the call says why, a release that was refused is unknown and is done once saves work', async () => {
    const own = await RedisBed.start();
    const [, folder = ''] = await own.admin.config('GET', 'dir');
    const inTheWay = join(folder, 'dump.rdb');
    try {
      const klock = await own.open({ releaseTimeoutMs: 300 });
      const key = own.key();
      const lock = await klock.acquire(key);
      await mkdir(inTheWay);
      await own.admin.config('SET', 'save', '3600 1');
      await saved(own, 'err');
      const { error } = await timed(klock.acquire(own.key(), { waitMs: 300 }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', storeCode: 'MISCONF', retryable: true });
      expect(await lock.release()).toBe('unknown');
      await rmdir(inTheWay);
      await saved(own, 'ok');
      for (let left = 100; left > 0 && (await own.admin.exists(nameOf(key))) > 0; left--) await pause(50);
      expect(await own.admin.exists(nameOf(key))).toBe(0);
    } finally {
      await own.stop();
    }
  });

  it('[L-22] [D-50] [I10] without memory what is held is renewed and given back: a full Redis costs nobody a lock', async () => {
    const klock = await bed.open({ ttlMs: 900, handover: false });
    const keys = [bed.key(), bed.key(), bed.key()] as const;
    const [lock, below, other] = [
      await klock.acquire(keys[0]),
      await klock.acquire([keys[1], 'x']),
      await klock.acquire(keys[2]),
    ];
    const isLost = new Promise((resolve) => klock.on('lock.lost', () => resolve(true)));
    await bed.admin.config('SET', 'maxmemory', '1');
    try {
      expect(await Promise.race([isLost, pause(2_000)])).toBeUndefined();
      expect([lock.held, below.held, other.held]).toEqual([true, true, true]);
      await lock.extend(1_500);
      expect(await lock.release()).toBe('released');
      expect(await below.release()).toBe('released');
      await other.release();
      expect(await bed.admin.exists(...keys.slice(0, 3).map(nameOf))).toBe(0);
    } finally {
      await bed.admin.config('SET', 'maxmemory', '0');
    }
  });

  it('[B-040] [D-63] being a replica, or evicting keys, unless a warning is enough; health() says so too', async () => {
    const replica = await RedisBed.start({ args: ['--replicaof', '127.0.0.1', String(bed.server.port)] });
    try {
      const klock = await replica.open();
      const { error } = await timed(klock.acquire('k', { waitMs: 3_000 }));
      expect(codeOf(error)).toBe('BACKEND_MISCONFIGURED');
      expect((error as Error).message).toContain('replica');
      expect(await klock.driver.health()).toMatchObject({
        state: 'misconfigured',
        detail: expect.stringContaining('replica') as string,
      });
    } finally {
      await replica.stop();
    }
    const cache = await RedisBed.start({
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    try {
      const klock = await cache.open();
      const strict = await timed(klock.acquire('k', { waitMs: 3_000 }));
      expect(codeOf(strict.error)).toBe('BACKEND_MISCONFIGURED');
      expect((strict.error as Error).message).toContain('allkeys-lru');
      expect(strict.ms).toBeLessThan(200);
      expect(await klock.driver.health()).toMatchObject({ state: 'misconfigured' });
      const lenient = await cache.open({ redis: { eviction: 'warn' } });
      const warnings: string[] = [];
      lenient.on('warning', ({ code }) => void warnings.push(code));
      expect((await lenient.acquire('k')).held).toBe(true);
      expect(warnings).toEqual(['REDIS_MAY_EVICT']);
      expect(await lenient.driver.health()).toMatchObject({ state: 'ok' });
      expect(warnings).toEqual(['REDIS_MAY_EVICT']);
    } finally {
      await cache.stop();
    }
  }, 20_000);

  it('[B-038] something foreign at the key: neither granted nor waited for, and left as it was', async () => {
    const klock = await bed.open();
    for (const put of [
      (name: string) => bed.admin.set(name, 'garbage'),
      (name: string) => bed.admin.hset(name, 'a', 'b'),
      (name: string) => bed.admin.rpush(name, 'a'),
    ]) {
      const key = bed.key();
      await put(nameOf(key));
      const before = await bed.admin.type(nameOf(key));
      const { ms, error } = await timed(klock.acquire(key, { waitMs: 1_000 }));
      expect(codeOf(error)).toBe('BACKEND_STATE');
      expect((error as Error).message).toContain(nameOf(key));
      expect(ms).toBeLessThan(200);
      expect(await bed.admin.type(nameOf(key))).toBe(before);
      expect(await bed.admin.pttl(nameOf(key))).toBe(-1);
    }
  });
});

describe('replicas', () => {
  it('a grant counts only once a replica has it; else it is taken back', async () => {
    await bed.admin.config('SET', 'repl-diskless-sync-delay', '0');
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(bed.server.port)] });
    try {
      while (!(await bed.admin.info('replication')).includes('state=online')) await pause(10);
      const klock = await bed.open({ redis: { replicas: { min: 1, timeoutMs: 1_500 } } });
      const key = bed.key();
      expect((await klock.acquire(key)).held).toBe(true);
      replica.pause();
      const other = bed.key();
      const { error } = await timed(klock.acquire(other, { waitMs: 5_000 }));
      expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', storeCode: 'NOT_REPLICATED' });
      await pause(50);
      expect(await bed.admin.exists(nameOf(other))).toBe(0);
    } finally {
      replica.resume();
      await replica.stop();
    }
  }, 20_000);
});

/** What Redis answers about the life of a key that is not there. */
const GONE = -2;

describe('[B-048] fence counters', () => {
  it(`of keys used once are gone a minute later, and fences still never go back${scaleNote(250)}`, async () => {
    const own = await RedisBed.start();
    try {
      const klock = await own.open({ ttlMs: 60_000 });
      const first = await (async (): Promise<LockHandle> => {
        const lock = await klock.acquire('order-0');
        await lock.release();
        return lock;
      })();
      const base = await own.admin.dbsize();
      const count = scaled(1_000_000, 250);
      for (let done = 0; done < count; done += 500) {
        await Promise.all(
          Array.from(
            { length: 500 },
            async (_, at) => await (await klock.acquire(`order-${done + at}`)).release(),
          ),
        );
      }
      for (const name of (await own.admin.keys('*')).slice(0, 2_000)) {
        const pttl = await own.admin.pttl(name);
        // Of a million, the first go while the last are asked for.
        if (pttl === GONE) continue;
        // 0 in its last millisecond; below: it would never go.
        expect(pttl).toBeGreaterThanOrEqual(0);
        expect(pttl).toBeLessThanOrEqual(60_000);
      }
      if (long) {
        await pause(61_000);
        expect(await own.admin.dbsize()).toBeLessThanOrEqual(base);
      } else {
        await own.admin.flushall();
      }
      const again = await klock.acquire('order-0');
      expect(again.fence > first.fence).toBe(true);
    } finally {
      await own.stop();
    }
  }, 600_000);
});
