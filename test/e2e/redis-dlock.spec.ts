import { Redis } from 'ioredis';
import { createKlock, isLockError, type KlockInstance, type LockHandle } from 'klock/core';
import { redisDriver } from 'klock/redis';
import { createClient } from 'redis';
import { RedisBed, pause, timed } from '../support/redis-bed.js';

/** Rows of the reference dlock and heytom-dlm (spec/checklist.md D-01 to D-65, H-01 to H-28) on a real Redis. */

let bed: RedisBed;
beforeAll(async () => {
  bed = await RedisBed.start();
}, 30_000);
afterAll(() => bed.stop());
afterEach(() => bed.closeClients());

const pair = async (): Promise<[KlockInstance, KlockInstance]> => [await bed.open(), await bed.open()];
const nameOf = (key: string): string => `lock:{${key}}`;
const codeOf = async (promise: Promise<unknown>): Promise<string | undefined> => {
  const { error } = await timed(promise);
  if (isLockError(error)) return error.code;
  return error === undefined ? undefined : `no lock error: ${(error as Error).message}`;
};
const thrown = (run: () => unknown): unknown => {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
};

describe('making a driver', () => {
  it('[D-01] [D-02] [D-04] [D-06] [D-59] what is no Redis client, and options nobody knows, are refused by name before anything is contacted', () => {
    const client = new Redis({ lazyConnect: true });
    for (const wrong of [undefined, null, {}, 'redis://localhost', { evalsha: 1 }, () => client])
      expect(thrown(() => redisDriver(wrong as never))).toMatchObject({
        code: 'INVALID_OPTION',
        option: 'redis',
      });
    const options = Object.freeze({ prefix: 'p:' });
    expect(redisDriver(client, options).name).toBe('redis');
    for (const [option, value] of [
      ['prefix', 7],
      ['prefix', 'x\n'],
      ['prefix', 'x'.repeat(129)],
      ['fencing', 'off'],
      ['eviction', true],
      ['replicas', 1],
      ['replicas.min', { min: 0, timeoutMs: 1 }],
      ['replicas.timeoutMs', { min: 1, timeoutMs: 0 }],
      ['storeName', ''],
      ['ttl', 1],
    ] as const) {
      const key = option.split('.')[0] as string;
      expect(thrown(() => redisDriver(client, { [key]: value }))).toMatchObject({
        code: 'INVALID_OPTION',
        option,
      });
    }
    expect(client.status).toBe('wait');
  });

  it('[D-03] [D-09] [D-11] negative, zero and fractional times are refused in options and per call, and no key is written', async () => {
    const client = new Redis({ lazyConnect: true });
    for (const ttlMs of [-1, 0, 0.5])
      expect(thrown(() => createKlock({ driver: redisDriver(client), ttlMs }))).toMatchObject({
        option: 'ttlMs',
      });
    const klock = await bed.open();
    const key = bed.key();
    for (const ttlMs of [-5, 0, 0.5])
      expect(await codeOf(klock.acquire(key, { ttlMs }))).toBe('INVALID_OPTION');
    expect(await bed.admin.keys(`*${key}*`)).toEqual([]);
  });

  it('[D-07] defaults: a lease of 10 s under lock:', async () => {
    const klock = await bed.open();
    const key = bed.key();
    await klock.acquire(key);
    const pttl = await bed.admin.pttl(nameOf(key));
    expect(pttl).toBeGreaterThan(9_500);
    expect(pttl).toBeLessThanOrEqual(10_000);
  });

  it('[D-05] [D-60] [D-61] [D-62] [D-63] construction contacts nothing; ready() and health() meet the server, or say why not', async () => {
    const closed = createClient({ socket: { host: '127.0.0.1', port: bed.server.port } });
    const unconnected = createKlock({ driver: redisDriver(closed) });
    const early = await timed(unconnected.driver.ready(300));
    expect(isLockError(early.error, 'LOCK_UNAVAILABLE')).toBe(true);
    expect(await codeOf(unconnected.acquire('k', { waitMs: 0 }))).toBe('LOCK_UNAVAILABLE');
    expect(await unconnected.driver.health()).toMatchObject({ state: 'unreachable' });
    await closed.connect();
    await Promise.all([unconnected.driver.ready(2_000), unconnected.driver.ready(2_000)]);
    expect(await unconnected.driver.health()).toMatchObject({ state: 'ok' });
    await unconnected.close();
    closed.destroy();
  });
});

describe('lock and unlock', () => {
  it('[D-13] [D-15] [D-16] [H-01] [H-17] tryAcquire: a lock when free, undefined while another holds, a lock again after', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    expect(await a.isLocked(key)).toBe(false);
    const lock = await a.tryAcquire(key);
    expect(lock?.token).toBeDefined();
    expect(await b.tryAcquire(key)).toBeUndefined();
    expect([await a.isLocked(key), await b.isLocked(key)]).toEqual([true, true]);
    expect(await lock?.release()).toBe('released');
    expect(await b.isLocked(key)).toBe(false);
    expect(await b.tryAcquire(key)).toBeDefined();
  });

  it('[D-19] [D-20] [H-04] [H-24] ten clients take one key in turn, each woken by the release before it, none by polling', async () => {
    const key = bed.key();
    const holder = await bed.open();
    const first = await holder.acquire(key);
    const clients = await Promise.all(Array.from({ length: 10 }, () => bed.open()));
    const order: number[] = [];
    const waits = [];
    for (const [place, klock] of clients.entries()) {
      waits.push(klock.withLock(key, { waitMs: 20_000 }, () => void order.push(place)));
      while ((await holder.inspect(key)).waiterCount <= place) await pause(2);
    }
    const startMs = performance.now();
    await first.release();
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    // Ten checks of half a second and more would take five seconds.
    expect(performance.now() - startMs).toBeLessThan(1_500);
  });

  it('[D-21] [H-03] [H-05] [H-06] a wait ends with LOCK_TIMEOUT at its end, at once with waitMs 0, and with LOCK_ABORTED by its signal', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    await a.acquire(key);
    const late = await timed(b.acquire(key, { waitMs: 150 }));
    expect(isLockError(late.error, 'LOCK_TIMEOUT')).toBe(true);
    expect(late.ms).toBeGreaterThanOrEqual(145);
    expect(late.ms).toBeLessThan(600);
    expect((await timed(b.acquire(key, { waitMs: 0 }))).ms).toBeLessThan(200);
    const signal = AbortSignal.timeout(60);
    const aborted = await timed(b.acquire(key, { waitMs: 10_000, signal }));
    expect(isLockError(aborted.error, 'LOCK_ABORTED') && aborted.error.cause === signal.reason).toBe(true);
  });

  it('[D-22] [H-07] [H-08] a ttl per call is the one Redis gets, and a lock not renewed is free after it', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key, { ttlMs: 250, renew: false });
    expect(await bed.admin.pttl(nameOf(key))).toBeLessThanOrEqual(250);
    const { ms, value } = await timed(b.acquire(key, { waitMs: 5_000 }));
    expect(ms).toBeGreaterThan(150);
    expect(ms).toBeLessThan(250 + 1_000);
    expect(value!.fence > lock.fence).toBe(true);
    expect(lock.held).toBe(false);
  });

  it('[D-25] [D-33] [H-11] a token of an expired lock frees nothing of whoever holds now', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const old = await a.acquire(key, { ttlMs: 200, renew: false });
    const now = await b.acquire(key, { waitMs: 2_000 });
    expect(await old.release()).toBe('lost');
    expect(await codeOf(a.releaseToken(key, old.token))).toBe('INVALID_TOKEN');
    expect(await a.tryAcquire(key)).toBeUndefined();
    expect(await old.release()).toBe('lost');
    expect(now.held).toBe(true);
  });

  it('[D-24] [D-37] [H-09] [H-10] [H-12] [H-27] a token frees its own lock only: wrong, unknown and spent tokens are told apart', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key);
    for (const wrong of [`${lock.token}x`, 'kept:x', 'with blank', '\u{1F600}', 'x'.repeat(500)])
      expect(await codeOf(b.releaseToken(key, wrong))).toBe('INVALID_TOKEN');
    expect(lock.held).toBe(true);
    await b.releaseToken(key, lock.token);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
    expect(await codeOf(b.releaseToken(key, lock.token))).toBe('LOCK_NOT_HELD');
    await a.close();
    expect(await lock.release()).not.toBe('released');
  });

  it('[D-29] [H-16] a release Redis does not answer says unknown in time, is repeated until it is done, and a token call fails with LOCK_UNAVAILABLE', async () => {
    const [a, b] = await pair();
    const [key, other] = [bed.key(), bed.key()];
    const [lock, kept] = [await a.acquire(key), await a.acquire(other)];
    const { token } = kept;
    bed.server.pause();
    const unlock = timed(lock.release({ timeoutMs: 100 }));
    const byToken = timed(b.releaseToken(other, token));
    expect((await unlock).value).toBe('unknown');
    expect((await unlock).ms).toBeLessThan(400);
    expect(isLockError((await byToken).error, 'LOCK_UNAVAILABLE')).toBe(true);
    bed.server.resume();
    await pause(300);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
    expect(await lock.release()).toBe('unknown');
  });

  it('[D-31] [D-32] 1,152 locks lost at once each tell every reader, and nothing is remembered of them', async () => {
    const klock = await bed.open({ ttlMs: 3_000 });
    const locks = await Promise.all(Array.from({ length: 1_152 }, () => klock.acquire(bed.key())));
    const readers = locks.flatMap((lock) => [lock.done, lock.done]);
    await bed.admin.flushall();
    const ends = await Promise.all(readers);
    expect(ends.every((end) => end.end === 'lost' && end.reason === 'not-held')).toBe(true);
    expect(locks.some((lock) => lock.held)).toBe(false);
  });
});

describe('closing', () => {
  it('[D-34] [D-35] [D-36] [D-38] [H-26] close frees what is held, any number of calls settle alike, and the client given stays open', async () => {
    const mine = new Redis({ host: '127.0.0.1', port: bed.server.port });
    const klock = createKlock({ driver: redisDriver(mine) });
    const key = bed.key();
    const lock = await klock.acquire(key);
    const { signal } = lock;
    expect(await Promise.all([klock.close(), klock.close(), klock.close()])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(await codeOf(klock.acquire(key))).toBe('CLOSED');
    expect(isLockError(signal.reason, 'LOCK_LOST')).toBe(true);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
    expect(await mine.ping()).toBe('PONG');
    expect(mine.listenerCount('ready') + mine.listenerCount('close') + mine.listenerCount('end')).toBe(0);
    mine.disconnect();
  });
});

describe('several tasks, one instance', () => {
  it('[D-52] two tasks that share an instance queue for a key instead of failing', async () => {
    const klock = await bed.open();
    const key = bed.key();
    let inside = 0;
    await Promise.all(
      Array.from({ length: 20 }, () =>
        klock.withLock(key, { waitMs: 10_000 }, async () => {
          expect(++inside).toBe(1);
          await pause(1);
          inside--;
        }),
      ),
    );
  });

  it('[D-53] [H-02] [H-28] every grant has a token of its own and a fence above the one before', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const seen: LockHandle[] = [];
    for (const klock of [a, b, a]) {
      const lock = await klock.acquire(key);
      seen.push(lock);
      expect(lock.token).toBeDefined();
      await lock.release();
    }
    expect(new Set(seen.map((lock) => lock.token)).size).toBe(3);
    expect(seen[0]!.fence < seen[1]!.fence && seen[1]!.fence < seen[2]!.fence).toBe(true);
  });

  it('[D-65] a double-checked cache rebuild under a lock reads the source once for concurrent misses', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    let cached: string | undefined;
    let reads = 0;
    const read = (klock: KlockInstance): Promise<string> =>
      cached !== undefined
        ? Promise.resolve(cached)
        : klock.withLock(key, { waitMs: 5_000 }, async () => {
            if (cached !== undefined) return cached;
            reads++;
            await pause(20);
            return (cached = 'value');
          });
    const values = await Promise.all([a, b, a, b, a, b].map(read));
    expect(new Set(values)).toEqual(new Set(['value']));
    expect(reads).toBe(1);
  });
});

describe('refresh by token', () => {
  it('[H-13] [H-14] extendToken sets the remaining life to at least the ttl, never shortens it, and changes nothing with a wrong token', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key, { ttlMs: 2_000, renew: false });
    await b.extendToken(key, lock.token, 30_000);
    expect(await bed.admin.pttl(nameOf(key))).toBeGreaterThan(29_000);
    await b.extendToken(key, lock.token, 1_000);
    expect(await bed.admin.pttl(nameOf(key))).toBeGreaterThan(28_000);
    expect(await codeOf(b.extendToken(key, `${lock.token}x`, 60_000))).toBe('INVALID_TOKEN');
    expect(await bed.admin.pttl(nameOf(key))).toBeLessThan(30_000);
    await b.releaseToken(key, lock.token);
    expect(await codeOf(b.extendToken(key, lock.token, 1_000))).toBe('LOCK_NOT_HELD');
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
  });

  it('[H-15] extendToken on a silent Redis fails with LOCK_UNAVAILABLE', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const { token } = await a.acquire(key);
    await b.isLocked(key);
    bed.server.pause();
    const { ms, error } = await timed(b.extendToken(key, token, 5_000));
    bed.server.resume();
    expect(isLockError(error, 'LOCK_UNAVAILABLE') && error.operation).toBe('extend');
    expect(ms).toBeLessThan(1_500);
  });

  it('[B-017] extend of a handle may shorten the lease too, and counts from its sending', async () => {
    const klock = await bed.open();
    const key = bed.key();
    const lock = await klock.acquire(key, { ttlMs: 20_000 });
    await lock.extend(40_000);
    expect(lock.remainingMs).toBeGreaterThan(30_000);
    await lock.extend(1_000);
    expect(lock.remainingMs).toBeLessThanOrEqual(900);
    expect(await bed.admin.pttl(nameOf(key))).toBeLessThanOrEqual(1_000);
    await pause(1_300);
    expect(lock.held).toBe(true);
  });
});

describe('lock and execute', () => {
  it('[H-18] [H-19] withLock runs its work only while the lock is held and frees it after success, error and throw', async () => {
    const klock = await bed.open();
    const key = bed.key();
    expect(await klock.withLock(key, (lock) => lock.held)).toBe(true);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
    const mine = new Error('mine');
    expect((await timed(klock.withLock(key, () => Promise.reject(mine)))).error).toBe(mine);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
    const work = (): never => {
      throw mine;
    };
    expect((await timed(klock.withLock(key, work))).error).toBe(mine);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
  });

  it('[H-20] without the lock its work is not called', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    await a.acquire(key);
    let called = false;
    expect(await codeOf(b.withLock(key, { waitMs: 60 }, () => void (called = true)))).toBe('LOCK_TIMEOUT');
    expect(called).toBe(false);
  });

  it('[H-21] withLock renews while its work runs and aborts it when the lock is lost', async () => {
    const klock = await bed.open({ ttlMs: 300 });
    const key = bed.key();
    const { error } = await timed(
      klock.withLock(key, async (lock) => {
        await pause(700);
        expect(lock.held).toBe(true);
        await bed.admin.del(nameOf(key));
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        return 7;
      }),
    );
    expect(error).toMatchObject({ code: 'LOCK_LOST', reason: 'not-held', result: 7 });
  });

  it('[H-22] the release after the work happens although the caller has aborted', async () => {
    const klock = await bed.open();
    const key = bed.key();
    const gone = new AbortController();
    await klock.withLock(key, { signal: gone.signal }, () => gone.abort());
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
  });
});

describe('what stands in Redis', () => {
  it('[L-32] [L-33] [L-34] [L-63] [H-23] [B-038] in 3,000 random steps every key of klock has an expiry, and every lock its token and fence', async () => {
    const klock = await bed.open({ handover: false });
    const seed = Date.now() % 100_000;
    console.log(`seed ${seed}`);
    let state = seed;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const held: LockHandle[] = [];
    let over = false;
    let looks = 0;
    const watch = (async () => {
      while (!over) {
        for (const name of await bed.admin.keys('lock:{walk*')) {
          const [pttl, type] = [await bed.admin.pttl(name), await bed.admin.type(name)];
          expect(`${name} ${pttl}`).not.toBe(`${name} -1`);
          if (type === 'string' && !name.endsWith(':fence'))
            expect((await bed.admin.get(name)) ?? 'lk_0\xff0\xff1').toMatch(
              /^(kept:)?lk_[0-9a-f]+ [0-9a-f]*\ufffd\d+\ufffd\d+|^lk_0/,
            );
          looks++;
        }
      }
    })();
    for (let step = 0; step < 3_000; step++) {
      const l1 = `walk${random(4)}`;
      switch (random(4)) {
        case 0:
          held.push(
            ...[await klock.tryAcquire(l1, { ttlMs: 5 + 20 + random(300) })].flatMap((lock) => lock ?? []),
          );
          break;
        case 1:
          held.push(
            ...[await klock.tryAcquire([l1, `x${random(3)}`], { ttlMs: 200 })].flatMap((lock) => lock ?? []),
          );
          break;
        case 2:
          await timed(
            klock.acquire([l1, `x${random(3)}`], { waitMs: 1 + random(3), ttlMs: 100 + random(200) }),
          );
          break;
        default: {
          const lock = held.splice(random(held.length), 1)[0];
          if (random(2) === 0) await timed(Promise.resolve(lock?.extend(50 + random(400))));
          else await lock?.release();
        }
      }
    }
    over = true;
    await watch;
    expect(looks).toBeGreaterThan(50);
  }, 30_000);
});
