import {
  createKlock,
  isLockError,
  lockKey,
  type KlockInstance,
  type LockEvent,
  type LockHandle,
  type LockKey,
} from 'klock/core';
import { redisDriver } from 'klock/redis';
import { connectIoredis } from '../support/redis-clients.js';
import { RedisBed, pause, timed } from '../support/redis-bed.js';

/** Rows of the reference locker (spec/checklist.md L-01 to L-66, L-81) on a real Redis. */

const TTL = 300;
let bed: RedisBed;
beforeAll(async () => {
  bed = await RedisBed.start();
}, 30_000);
afterAll(() => bed.stop());
afterEach(() => bed.closeClients());

const pair = async (): Promise<[KlockInstance, KlockInstance]> => [
  await bed.open({ ttlMs: TTL }),
  await bed.open({ ttlMs: TTL }),
];
const nameOf = (key: string): string => `lock:{${key}}`;
const stored = (key: string): Promise<string | null> => bed.admin.get(nameOf(key));
const codeOf = async (promise: Promise<unknown>): Promise<string | undefined> => {
  const { error } = await timed(promise);
  if (isLockError(error)) return error.code;
  return error === undefined ? undefined : `no lock error: ${(error as Error).message}`;
};
function losses(klock: KlockInstance): Extract<LockEvent, { type: 'lock.lost' }>[] {
  const seen: Extract<LockEvent, { type: 'lock.lost' }>[] = [];
  klock.on('lock.lost', (event) => void seen.push(event));
  return seen;
}
/** How often the klock script ran since the last reset. */
async function scriptCalls(): Promise<number> {
  const info = await bed.admin.info('commandstats');
  return ['evalsha', 'eval'].reduce(
    (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(info)?.[1] ?? 0),
    0,
  );
}

describe('taking and giving back', () => {
  it('[L-01] [L-08] a lock on a free key stands in Redis while it is held and is deleted by its release', async () => {
    const klock = await bed.open();
    const key = bed.key();
    const lock = await klock.acquire(key);
    expect(await bed.admin.exists(nameOf(key))).toBe(1);
    expect(await lock.release()).toBe('released');
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
  });

  it('[D-56] [L-66] keys of one turn, line feeds and every script in them, stand under their own names behind what the client itself puts there', async () => {
    const own = await connectIoredis(bed.server.port, { keyPrefix: 'äpp:' });
    const klock = createKlock({ driver: redisDriver(own.client) });
    const keys: LockKey[] = ['a', 'a\nb', '1 2', 'ключ', '鍵\n\n'].flatMap((l1) => [
      [l1],
      [`${l1}+`, `\n${l1}`],
    ]);
    const locks = await Promise.all(keys.map((key) => klock.acquire(key, { metadata: { of: key[0] } })));
    const names = keys.map(([l1, l2]) => `äpp:lock:{${l1}}${l2 === undefined ? '' : `/${l2}`}`);
    expect(await bed.admin.exists(...names)).toBe(names.length);
    for (const key of keys) expect((await klock.inspect(key)).holders[0]?.metadata).toEqual({ of: key[0] });
    expect(new Set(await Promise.all(locks.map((lock) => lock.release())))).toEqual(new Set(['released']));
    expect(await bed.admin.exists(...names)).toBe(0);
    await klock.close();
    await own.end();
  });

  it('[L-02] [L-03] of ten instances that try one key at once exactly one gets it', async () => {
    const instances = await Promise.all(Array.from({ length: 10 }, () => bed.open()));
    const key = bed.key();
    const locks = await Promise.all(instances.map((klock) => klock.tryAcquire(key)));
    expect(locks.filter((lock) => lock !== undefined)).toHaveLength(1);
  });

  it('[L-04] [D-54] every grant stands in Redis under a fresh token of 128 random bits', async () => {
    const klock = await bed.open();
    const tokens = new Set<string>();
    for (let turn = 0; turn < 3; turn++) {
      const key = bed.key();
      const lock = await klock.acquire(key);
      expect(lock.token).toMatch(/^lk_[0-9a-f]{32}$/);
      expect(await stored(key)).toContain(lock.token);
      tokens.add(lock.token);
    }
    expect(tokens.size).toBe(3);
  });

  it('[L-09] [L-10] a token call on what nobody holds answers LOCK_NOT_HELD and leaves Redis as it was', async () => {
    const klock = await bed.open();
    const key = bed.key();
    expect(await codeOf(klock.releaseToken(key, `lk_${'0'.repeat(32)}`))).toBe('LOCK_NOT_HELD');
    expect(await bed.admin.keys(`lock:{${key}}*`)).toEqual([]);
  });

  it('[L-11] [L-12] [L-13] a lock without renewal expires, and its late release leaves whoever took it alone', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const first = await a.acquire(key, { renew: false });
    await pause(TTL + 50);
    expect(await first.release()).toBe('lost');
    expect(await codeOf(a.releaseToken(key, first.token))).toBe('LOCK_NOT_HELD');
    const second = await b.acquire(key);
    const before = await stored(key);
    expect(await codeOf(a.releaseToken(key, first.token))).toBe('INVALID_TOKEN');
    expect(await stored(key)).toBe(before);
    expect(second.held).toBe(true);
  });

  it('[L-15] [D-12] an empty key is refused by every call before Redis is asked', async () => {
    const klock = await bed.open();
    await klock.isLocked('warm');
    const before = await scriptCalls();
    for (const call of [
      klock.acquire(''),
      klock.tryAcquire(''),
      klock.isLocked(''),
      klock.inspect(''),
      klock.releaseToken('', 'x'),
      klock.extendToken('', 'x', 1_000),
    ])
      expect(await codeOf(call)).toBe('INVALID_KEY');
    expect(await scriptCalls()).toBe(before);
  });

  it('[L-16] [L-17] [D-56] keys stand under prefix and key, by default lock:, and no two pairs share a name', async () => {
    const pairs = [
      [undefined, 'a'],
      ['', 'a'],
      ['app:', 'a'],
      ['app', ':a'],
      ['app:{x', '}y'],
      ['app:', '{x}y'],
      ['app:{x}', 'y'],
      ['app:%7B', 'y'],
    ] as const;
    for (const [prefix, key] of pairs) {
      const klock = await bed.open(prefix === undefined ? {} : { redis: { prefix } });
      expect(await klock.tryAcquire(key, { renew: false, ttlMs: 2_000 })).toBeDefined();
    }
    const names = (await bed.admin.keys('*')).filter((name) => !name.endsWith(':fence'));
    expect(names).toEqual(expect.arrayContaining(['lock:{a}', '{a}', 'app:{a}', 'app{:a}']));
    expect(names).toHaveLength(pairs.length);
  });

  it('[L-18] lockKey joins parts, escapes what could make two keys alike and refuses an empty part', () => {
    expect(lockKey`order:${'a:b'}`).toBe('order:a%3Ab');
    expect(lockKey`order:${'a'}:${7}`).toBe('order:a:7');
    expect(() => lockKey`order:${''}`).toThrow(expect.objectContaining({ code: 'KEY_UNRESOLVED' }) as Error);
  });
});

describe('waiting', () => {
  it('[L-19] [L-25] acquire waits for an occupied key, gets it when it is freed, and keeps to its waitMs', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key);
    expect(await codeOf(b.acquire(key, { waitMs: 80 }))).toBe('LOCK_TIMEOUT');
    // A sibling of the holder waits in the same process; it keeps to its own limit all the same.
    const sibling = await timed(a.acquire(key, { waitMs: 80 }));
    expect(isLockError(sibling.error, 'LOCK_TIMEOUT')).toBe(true);
    expect(sibling.ms).toBeLessThan(400);
    const waiting = timed(b.acquire(key, { waitMs: 5_000 }));
    await pause(50);
    await lock.release();
    expect((await waiting).value?.held).toBe(true);
    expect((await waiting).ms).toBeLessThan(550);
  });

  it('[L-20] waitMs 0 asks Redis once', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    await a.acquire(key, { ttlMs: 5_000 });
    await b.isLocked(key);
    const before = await scriptCalls();
    expect(await codeOf(b.acquire(key, { waitMs: 0 }))).toBe('LOCK_TIMEOUT');
    // The first acquire of a client meets the server first.
    expect((await scriptCalls()) - before).toBe(2);
    expect(await codeOf(b.acquire(key, { waitMs: 0 }))).toBe('LOCK_TIMEOUT');
    expect((await scriptCalls()) - before).toBe(3);
  });

  it('[L-22] [D-50] a passing refusal is waited out, a lasting one ends the call at once', async () => {
    const klock = await bed.open({ ttlMs: 2_000 });
    const key = bed.key();
    await klock.isLocked(key);
    await bed.admin.config('SET', 'maxmemory', '1');
    const waiting = timed(klock.acquire(key, { waitMs: 5_000 }));
    await pause(150);
    await bed.admin.config('SET', 'maxmemory', '0');
    expect((await waiting).value?.held).toBe(true);
    const odd = bed.key();
    await bed.admin.lpush(nameOf(odd), 'not a lock');
    const refused = await timed(klock.acquire(odd, { waitMs: 5_000 }));
    expect(isLockError(refused.error, 'BACKEND_STATE')).toBe(true);
    expect(refused.ms).toBeLessThan(200);
    await bed.admin.del(nameOf(odd));
  });

  it('[L-23] an abort during the wait rejects with the reason as cause and takes the waiter out of line', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key);
    const gone = new AbortController();
    const reason = new Error('no longer');
    const waiting = timed(b.acquire(key, { waitMs: 60_000, signal: gone.signal }));
    await pause(60);
    expect((await a.inspect(key)).waiterCount).toBe(1);
    gone.abort(reason);
    const { error } = await waiting;
    expect(isLockError(error, 'LOCK_ABORTED') && error.cause === reason).toBe(true);
    await pause(30);
    expect((await a.inspect(key)).waiterCount).toBe(0);
    await lock.release();
  });

  it('[L-24] [L-53] closing during the wait ends it with CLOSED, and later calls too', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    await a.acquire(key);
    const waiting = codeOf(b.acquire(key, { waitMs: 60_000 }));
    await pause(30);
    await b.close();
    expect(await waiting).toBe('CLOSED');
    expect(await codeOf(b.acquire(key))).toBe('CLOSED');
    expect(await codeOf(b.tryAcquire(key))).toBe('CLOSED');
  });

  it('[L-28] tryAcquire while a sibling call on the key is in progress answers without waiting', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key);
    const waiting = b.acquire(key, { waitMs: 5_000 });
    await pause(30);
    const { ms, value } = await timed(b.tryAcquire(key));
    expect(value).toBeUndefined();
    expect(ms).toBeLessThan(200);
    await lock.release();
    await (await waiting).release();
  });

  it('[L-29] [L-30] [L-31] a hundred rounds of racing acquires, tries and releases leave the key free and nothing behind', async () => {
    const klock = await bed.open({ ttlMs: 2_000 });
    const key = bed.key();
    for (let round = 0; round < 100; round++) {
      const work = async (take: Promise<LockHandle | undefined>): Promise<void> =>
        void (await (await take)?.release());
      await Promise.all([
        work(klock.acquire(key, { waitMs: 5_000 })),
        work(klock.tryAcquire(key)),
        work(klock.acquire(key, { waitMs: 5_000 })),
      ]);
    }
    expect(await klock.isLocked(key)).toBe(false);
    const left = (await bed.admin.keys(`lock:{${key}}*`)).filter((name) => !name.endsWith(':fence'));
    expect(left).toEqual([]);
  });
});

describe('re-entry', () => {
  it('[L-05] [L-06] [L-07] [L-26] [L-61] one owner shares its lock: nothing changes in Redis until the last handle is released', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const owner = a.owner();
    const outer = await a.acquire(key, { owner, ttlMs: 5_000 });
    const before = await stored(key);
    const [inner, third] = await Promise.all([
      a.acquire(key, { owner, reentry: 'count' }),
      a.acquire(key, { owner, reentry: 'count' }),
    ]);
    expect(inner.fence).toBe(outer.fence);
    expect(await stored(key)).toBe(before);
    await outer.release();
    await third.release();
    expect(await b.tryAcquire(key)).toBeUndefined();
    expect(await inner.release()).toBe('released');
    expect(await b.tryAcquire(key)).toBeDefined();
  });

  it('[L-14] past its deadline an owner without renewal does not re-enter from memory', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const owner = a.owner();
    const first = await a.acquire(key, { owner, renew: false });
    const other = b.acquire(key, { waitMs: 2_000, ttlMs: 2_000 });
    await other;
    expect(first.held).toBe(false);
    expect(await a.tryAcquire(key, { owner, reentry: 'count' })).toBeUndefined();
  });

  it('[L-27] [D-17] [D-18] the flow that holds is refused at once or shares; another flow of the instance waits', async () => {
    const klock = await bed.open();
    const key = bed.key();
    let other: Promise<LockHandle> | undefined;
    let ask: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (ask = resolve)).then(() => {
      other = klock.acquire(key, { waitMs: 5_000 });
    });
    await klock.withLock(key, async (lock) => {
      expect(await codeOf(klock.tryAcquire(key))).toBe('LOCK_REENTRY');
      const shared = await klock.tryAcquire(key, { reentry: 'count' });
      expect(shared?.fence).toBe(lock.fence);
      await shared?.release();
      ask();
      await asked;
      await pause(30);
    });
    expect((await other)?.held).toBe(true);
  });

  it('[L-37] a counted handle of a lock without renewal shares its deadline: giving it back neither renews nor frees', async () => {
    const klock = await bed.open();
    const key = bed.key();
    const owner = klock.owner();
    await klock.acquire(key, { owner, renew: false, ttlMs: 2_000 });
    const inner = await klock.acquire(key, { owner, reentry: 'count' });
    await pause(60);
    const before = await bed.admin.pttl(nameOf(key));
    await inner.release();
    const after = await bed.admin.pttl(nameOf(key));
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThanOrEqual(before);
  });
});

describe('renewal', () => {
  it('[L-35] [D-23] [D-55] a held lock is renewed every third of its ttl', async () => {
    const klock = await bed.open({ ttlMs: TTL });
    let renewals = 0;
    klock.on('lease.renewed', () => void renewals++);
    const key = bed.key();
    const lock = await klock.acquire(key);
    await pause(TTL * 3);
    expect(lock.held).toBe(true);
    expect(renewals).toBeGreaterThanOrEqual(5);
    expect(renewals).toBeLessThanOrEqual(10);
    expect(await bed.admin.pttl(nameOf(key))).toBeGreaterThan(TTL / 2);
  });

  it('[L-36] renewal goes on after one of two counted handles was given back', async () => {
    const klock = await bed.open({ ttlMs: TTL });
    const key = bed.key();
    const owner = klock.owner();
    const outer = await klock.acquire(key, { owner });
    await (await klock.acquire(key, { owner, reentry: 'count' })).release();
    await pause(TTL * 2);
    expect(outer.held).toBe(true);
    expect(await bed.admin.exists(nameOf(key))).toBe(1);
  });

  it('[L-38] [L-49] [L-50] [L-71] [D-26] [D-27] a renewal that finds the key gone loses the lock once and at once, and the key can be locked again', async () => {
    const klock = await bed.open({ ttlMs: 900 });
    const lost = losses(klock);
    const key = bed.key();
    const lock = await klock.acquire(key);
    await bed.admin.del(nameOf(key));
    const { ms, value } = await timed(lock.done);
    expect(ms).toBeLessThan(500);
    expect(value).toMatchObject({ end: 'lost', reason: 'not-held', code: 'LOCK_NOT_FOUND' });
    expect(await lock.release()).toBe('lost');
    const again = await klock.acquire(key);
    expect(again.fence > lock.fence).toBe(true);
    await pause(400);
    expect(again.held).toBe(true);
    expect(lost).toHaveLength(1);
  });

  it('[L-38] [D-51] a renewal that finds another holder loses the lock and leaves the other alone', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const lock = await a.acquire(key);
    await bed.admin.del(nameOf(key));
    const other = await b.acquire(key);
    expect(await lock.done).toMatchObject({ end: 'lost', reason: 'not-held' });
    expect(await lock.release()).toBe('lost');
    await pause(TTL);
    expect(other.held).toBe(true);
  });

  it('[L-40] [L-41] [L-42] [D-50] renewals that fail cost nothing while the deadline is ahead: jeopardy, then renewed', async () => {
    const klock = await bed.open({ ttlMs: 900 });
    let jeopardy = 0;
    klock.on('lease.jeopardy', () => void jeopardy++);
    const lock = await klock.acquire(bed.key());
    bed.server.pause();
    await pause(650);
    bed.server.resume();
    await pause(600);
    expect(jeopardy).toBeGreaterThanOrEqual(1);
    expect(lock.held).toBe(true);
    expect(lock.remainingMs).toBeGreaterThan(300);
  });

  it('[L-39] [L-44] [D-49] with Redis silent the lock is lost by its own deadline, before the key can expire there', async () => {
    const klock = await bed.open({ ttlMs: 600 });
    const lost = losses(klock);
    const lock = await klock.acquire(bed.key());
    bed.server.pause();
    try {
      const { ms, value } = await timed(lock.done);
      expect(ms).toBeLessThan(600 + 200);
      expect(value).toMatchObject({ end: 'lost', reason: 'unreachable' });
      expect(lock.held).toBe(false);
      expect(lost).toHaveLength(1);
    } finally {
      bed.server.resume();
    }
  });

  it('[L-43] a renewal is given up after renewTimeoutMs', async () => {
    const klock = await bed.open({ ttlMs: 1_500, renewTimeoutMs: 60 });
    const lock = await klock.acquire(bed.key());
    const jeopardy = new Promise<void>((resolve) => klock.on('lease.jeopardy', () => resolve()));
    bed.server.pause();
    try {
      const { ms } = await timed(jeopardy);
      // A third of the ttl until it is due, then its limit.
      expect(ms).toBeLessThan(500 + 60 + 150);
      expect(lock.held).toBe(true);
    } finally {
      bed.server.resume();
    }
  });

  it('[L-51] a renewal of an earlier grant never touches a later one', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const first = await a.acquire(key, { renew: false });
    await first.release();
    await b.acquire(key, { renew: false, ttlMs: 1_000 });
    const before = await bed.admin.pttl(nameOf(key));
    expect(await codeOf(a.extendToken(key, first.token, 60_000))).toBe('INVALID_TOKEN');
    expect(await bed.admin.pttl(nameOf(key))).toBeLessThanOrEqual(before);
  });
});

describe('loss and closing', () => {
  it('[L-45] [L-46] the loss event names the key without prefix, and a listener that throws disturbs nobody', async () => {
    const klock = await bed.open({ ttlMs: TTL, redis: { prefix: 'other:' } });
    klock.on('lock.lost', () => {
      throw new Error('mine');
    });
    const lost = losses(klock);
    const warnings: string[] = [];
    klock.on('warning', ({ code }) => void warnings.push(code));
    const key = bed.key();
    const lock = await klock.acquire(key);
    const other = await klock.acquire(bed.key());
    await bed.admin.del(`other:{${key}}`);
    await lock.done;
    expect(lost.map((event) => event.key)).toEqual([[key]]);
    expect(warnings).toContain('LISTENER_FAILED');
    await pause(TTL);
    expect(other.held).toBe(true);
  });

  it('[L-47] [D-28] [D-30] a release is no loss: no event, no aborted signal; whoever asks later hears that it is not held', async () => {
    const klock = await bed.open({ ttlMs: TTL });
    const lost = losses(klock);
    const lock = await klock.acquire(bed.key());
    const { signal } = lock;
    await lock.release();
    await pause(TTL);
    expect(signal.aborted).toBe(false);
    expect(await lock.done).toMatchObject({ end: 'released' });
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }) as Error);
    expect(lost).toEqual([]);
  });

  it('[L-48] [L-54] [L-52] close frees what is held, ends each lock once with reason closed, also one whose key is gone, and can be repeated', async () => {
    const [a, b] = await pair();
    const lost = losses(a);
    const [key, gone] = [bed.key(), bed.key()];
    await a.acquire(key);
    await a.acquire(gone);
    await bed.admin.del(nameOf(gone));
    await Promise.all([a.close({ graceMs: 1 }), a.close({ graceMs: 1 })]);
    await a.close();
    expect(lost.map((event) => event.reason)).toEqual(['closed', 'closed']);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
    expect(await b.tryAcquire(key)).toBeDefined();
  });

  it('[L-55] [D-39] a lock granted while its instance closes is given back and reported as closed', async () => {
    for (let round = 0; round < 20; round++) {
      const klock = await bed.open();
      const key = bed.key();
      const acquiring = codeOf(klock.acquire(key));
      await pause(round % 4);
      await klock.close({ graceMs: 1 });
      expect([undefined, 'CLOSED']).toContain(await acquiring);
      await pause(5);
      expect(await bed.admin.exists(nameOf(key))).toBe(0);
    }
  });

  it('[L-56] [L-57] [L-58] close beside busy instances is safe, and with nothing held returns at once', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    const work = Array.from({ length: 10 }, () => b.withLock(key, { waitMs: 10_000 }, () => pause(2)));
    const held = await a.tryAcquire(bed.key());
    expect(held).toBeDefined();
    await a.close({ graceMs: 1 });
    await Promise.all(work);
    const idle = await bed.open();
    expect((await timed(idle.close())).ms).toBeLessThan(300);
  });
});

describe('fences', () => {
  it('[L-59] [L-60] [L-62] fences rise over all instances; there is one for each handle, and it is a bigint', async () => {
    const [a, b] = await pair();
    const key = bed.key();
    let last = 0n;
    for (const klock of [a, b, a, b]) {
      const lock = await klock.acquire(key);
      expect(typeof lock.fence).toBe('bigint');
      expect(lock.fence > last).toBe(true);
      last = lock.fence;
      await lock.release();
    }
  });

  it('[L-64] a broken fence counter refuses the lock, or with best-effort is started again with a warning', async () => {
    const strict = await bed.open();
    const lenient = await bed.open({ redis: { fencing: 'best-effort' } });
    const warnings: string[] = [];
    lenient.on('warning', ({ code }) => void warnings.push(code));
    for (const broken of ['-2', 'abc', '1.5', '', '007', '18446744073709551615']) {
      const key = bed.key();
      await bed.admin.set(`${nameOf(key)}:fence`, broken);
      const { error } = await timed(strict.acquire(key));
      expect(isLockError(error, 'BACKEND_STATE') && error.message).toContain(`${nameOf(key)}:fence`);
      expect(await bed.admin.exists(nameOf(key))).toBe(0);
      const lock = await lenient.acquire(key);
      expect(lock.fence > 0n).toBe(true);
      await lock.release();
      await (await strict.acquire(key)).release();
    }
    expect(warnings).toEqual(Array(6).fill('REDIS_FENCE_RESTARTED'));
  });

  it('[L-81] options out of range are refused by name and value, and no key is written', async () => {
    const klock = await bed.open();
    const key = bed.key();
    for (const ttlMs of [0, -1, 0.5, 10])
      expect((await timed(klock.acquire(key, { ttlMs }))).error).toMatchObject({
        code: 'INVALID_OPTION',
        option: 'ttlMs',
        value: ttlMs,
      });
    expect(await bed.admin.keys(`lock:{${key}}*`)).toEqual([]);
  });
});
