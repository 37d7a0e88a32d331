import { Redis } from 'ioredis';
import { createKlock, isLockError } from 'klock/core';
import { redisDriver } from 'klock/redis';
import { createClient } from 'redis';
import { RedisBed, pause, timed } from '../support/redis-bed.js';
import { connectIoredis, connectNodeRedis } from '../support/redis-clients.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** What nobody answered: replies that were lost, commands that came late, connections cut in the middle. */

let bed: RedisBed;
let proxy: TcpProxy;
beforeAll(async () => {
  bed = await RedisBed.start();
}, 30_000);
afterAll(() => bed.stop());
beforeEach(async () => {
  proxy = await TcpProxy.start({ target: { port: bed.server.port } });
});
afterEach(async () => {
  await bed.closeClients();
  await proxy.stop();
});

const nameOf = (key: string): string => `lock:{${key}}`;
async function until(what: () => Promise<boolean>, ms = 3_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await what())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms`);
    await pause(5);
  }
}

describe.each([
  ['ioredis, sending again by itself', { autoResendUnfulfilledCommands: true }],
  ['ioredis, not sending again', { autoResendUnfulfilledCommands: false }],
  ['node-redis', undefined],
] as const)('a client of %s', (_, options) => {
  const connect = async (): ReturnType<typeof connectIoredis> =>
    options === undefined ? await connectNodeRedis(proxy.port) : await connectIoredis(proxy.port, options);

  it('[L-65] [B-020] [D-48] [I8] whose connection is cut after the acquire was carried out gets that very grant, freed by one release', async () => {
    const client = await connect();
    const klock = createKlock({ driver: redisDriver(client.client) });
    try {
      await klock.driver.ready(2_000);
      const key = bed.key();
      proxy.silence('down', { lost: true });
      const acquiring = klock.acquire(key, { waitMs: 5_000 });
      await until(async () => (await bed.admin.exists(nameOf(key))) === 1);
      const fence = await bed.admin.get(`${nameOf(key)}:fence`);
      const token = (await bed.admin.get(nameOf(key)))?.split(' ')[0];
      proxy.heal();
      const lock = await acquiring;
      expect(String(lock.fence)).toBe(fence);
      expect(lock.token).toBe(token);
      expect(lock.held).toBe(true);
      expect(await lock.release()).toBe('released');
      expect(await bed.admin.exists(nameOf(key))).toBe(0);
      await pause(100);
      expect(await bed.admin.exists(nameOf(key))).toBe(0);
    } finally {
      await klock.close();
      await client.end();
    }
  });

  it('[B-018] whose connection is cut after the release was carried out hears released, never an error', async () => {
    const client = await connect();
    const klock = createKlock({ driver: redisDriver(client.client) });
    try {
      const key = bed.key();
      const lock = await klock.acquire(key);
      proxy.silence('down', { lost: true });
      const releasing = lock.release({ timeoutMs: 5_000 });
      await until(async () => (await bed.admin.exists(nameOf(key))) === 0);
      proxy.heal();
      expect(await releasing).toBe('released');
      expect(await (await klock.acquire(key, { waitMs: 1_000 })).release()).toBe('released');
    } finally {
      await klock.close();
      await client.end();
    }
  });

  it('[B-020] [I7] that gave up while its acquire was carried out unheard leaves nothing behind', async () => {
    const client = await connect();
    const klock = createKlock({ driver: redisDriver(client.client) });
    try {
      await klock.driver.ready(2_000);
      const key = bed.key();
      const gone = new AbortController();
      proxy.silence('down', { lost: true });
      const acquiring = timed(klock.acquire(key, { waitMs: 60_000, ttlMs: 60_000, signal: gone.signal }));
      await until(async () => (await bed.admin.exists(nameOf(key))) === 1);
      gone.abort();
      expect(isLockError((await acquiring).error, 'LOCK_ABORTED')).toBe(true);
      proxy.heal();
      await until(async () => (await bed.admin.exists(nameOf(key))) === 0);
      await pause(150);
      expect(await bed.admin.exists(nameOf(key))).toBe(0);
      // The id can never be granted again, should a copy still come.
      expect(await bed.admin.zcard(`${nameOf(key)}:gone`)).toBe(1);
    } finally {
      await klock.close();
      await client.end();
    }
  });
});

describe('late answers', () => {
  it('[B-039] [WL-03] [WD-08] an acquire that the client gave up after commandTimeout is granted as itself or taken back: the next waits less than two seconds', async () => {
    const mine = new Redis({ host: '127.0.0.1', port: proxy.port, commandTimeout: 300 });
    mine.on('error', () => undefined);
    const a = createKlock({ driver: redisDriver(mine) });
    await a.driver.ready(2_000);
    const key = bed.key();
    proxy.setWeather({ latencyMs: 400 });
    const acquiring = timed(a.acquire(key, { ttlMs: 60_000, waitMs: 900 }));
    await pause(1_000);
    const b = await bed.open();
    const next = timed(b.acquire(key, { waitMs: 5_000 }));
    proxy.setWeather({ latencyMs: 0 });
    const { error, value } = await acquiring;
    if (value === undefined) expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    await value?.release();
    expect((await next).value?.held).toBe(true);
    expect((await next).ms).toBeLessThan(2_000);
    await a.close();
    mine.disconnect();
  });

  it('[B-017] a delayed reply shortens the lease by its delay; one later than the lease is no lock, and the key is free at once', async () => {
    const a = await bed.open({ port: proxy.port });
    await a.driver.ready(2_000);
    proxy.setWeather({ latencyMs: 700 }, 'down');
    const late = await a.acquire(bed.key(), { ttlMs: 1_000 });
    expect(late.remainingMs).toBeLessThanOrEqual(300);
    const key = bed.key();
    proxy.setWeather({ latencyMs: 1_500 }, 'down');
    const dead = await timed(a.acquire(key, { ttlMs: 1_000, waitMs: 1_800 }));
    expect(dead.value).toBeUndefined();
    const b = await bed.open();
    const next = await timed(b.acquire(key, { waitMs: 500 }));
    expect(next.value?.held).toBe(true);
  });

  it('[B-001] [B-019] [L-51] a renewal that comes after the release re-creates nothing, and none is sent any more', async () => {
    const a = await bed.open({ port: proxy.port, ttlMs: 300 });
    const rounds = 30;
    const lost: unknown[] = [];
    a.on('lock.lost', (event) => void lost.push(event));
    const names: string[] = [];
    proxy.setWeather({ latencyMs: 20, jitterMs: 10 });
    await Promise.all(
      Array.from({ length: rounds }, async (_, round) => {
        const key = bed.key();
        names.push(nameOf(key));
        const lock = await a.acquire(key);
        // Around the moment at which the renewal is under way.
        await pause(60 + round * 3);
        expect(await lock.release()).toBe('released');
        expect(await bed.admin.exists(nameOf(key))).toBe(0);
      }),
    );
    await pause(250);
    expect(await bed.admin.exists(...names)).toBe(0);
    expect(lost).toEqual([]);
  });
});

describe('copies', () => {
  it('[D4] a copy executed after its request was taken back, or after its time, is not granted', async () => {
    const { SCRIPT_TEXT } = await import('../../lib/drivers/redis/script-text.js');
    const tree = nameOf(bed.key());
    const run = async (words: string, who: string): Promise<string | undefined> => {
      const [name, ...rest] = words.split(' ');
      const asked = `${name} ${tree.length} 0 ${who.length} 0 ${rest.join(' ')}\n${tree}${who}`;
      const reply = await bed.admin.eval(SCRIPT_TEXT, 1, tree, '0', 'channel', '', 'required', asked);
      return (reply as string[])[0]?.split('\n')[2];
    };
    const [seconds] = await bed.admin.time();
    const nowMs = Number(seconds) * 1_000;
    await run(`release 0 ${nowMs + 65_000}`, 'lk_1 id1');
    expect(await run(`acquire 5000 ${nowMs + 60_000} queue 0 1`, 'lk_1 id1')).toBe('gone');
    expect(await run(`acquire 5000 ${nowMs - 5_000} queue 0 1`, 'lk_2 id2')).toBe('expired');
    const first = await run(`acquire 5000 ${nowMs + 60_000} queue 0 1`, 'lk_3 id3');
    const again = await run(`acquire 5000 ${nowMs + 60_000} queue 0 1`, 'lk_3 id3');
    expect(first).toMatch(/^\d+$/);
    expect(again).toMatch(new RegExp(`^granted ${first} 1 \\d+$`));
    expect(await bed.admin.pttl(`${tree}:gone`)).toBeGreaterThan(0);
  });

  it('[B-012] counters beyond 2^53 stay exact, and the largest is refused instead of wrapping', async () => {
    const klock = await bed.open();
    const key = bed.key();
    await bed.admin.set(`${nameOf(key)}:fence`, '9007199254740993', 'PX', 60_000);
    const lock = await klock.acquire(key);
    expect(lock.fence).toBe(9_007_199_254_740_994n);
    expect((await klock.inspect(key)).holders[0]?.fence).toBe(9_007_199_254_740_994n);
    await lock.release();
    await bed.admin.set(`${nameOf(key)}:fence`, '9223372036854775807', 'PX', 60_000);
    expect((await timed(klock.acquire(key))).error).toMatchObject({ code: 'BACKEND_STATE' });
    expect(JSON.stringify((await timed(klock.acquire(key))).error)).toContain('BACKEND_STATE');
  });

  it('[D-61] a client of node-redis that is closed by its owner ends every call at once', async () => {
    const mine = createClient({ socket: { host: '127.0.0.1', port: bed.server.port } });
    mine.on('error', () => undefined);
    await mine.connect();
    const klock = createKlock({ driver: redisDriver(mine) });
    const lock = await klock.acquire(bed.key());
    mine.destroy();
    const { ms, error } = await timed(klock.acquire(bed.key(), { waitMs: 5_000 }));
    expect(isLockError(error, 'LOCK_UNAVAILABLE')).toBe(true);
    expect(ms).toBeLessThan(500);
    expect(await lock.release()).toBe('lost');
    await klock.close();
  });
});
