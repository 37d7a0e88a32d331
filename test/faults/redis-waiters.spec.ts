import type { KlockInstance } from 'klock/core';
import { type Child } from '../support/child.js';
import { ClientProcess } from '../support/client-process.js';
import { RedisBed, pause, timed } from '../support/redis-bed.js';
import { scaleNote, scaled } from '../support/scale.js';

/** Waiters whose wake-up is lost, holders that stop, block or die, and who is served when. */

let bed: RedisBed;
beforeAll(async () => {
  bed = await RedisBed.start();
}, 30_000);
afterAll(() => bed.stop());
const children: Child[] = [];
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await bed.closeClients();
});

const nameOf = (key: string): string => `lock:{${key}}`;
async function process(options: Parameters<typeof ClientProcess.start>[1] = {}): Promise<ClientProcess> {
  const started = await ClientProcess.start(bed.server.url, options);
  children.push(started.child);
  return started;
}
async function until(what: () => boolean | Promise<boolean>, ms = 5_000): Promise<void> {
  const end = performance.now() + ms;
  while (!(await what())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms`);
    await pause(5);
  }
}
const queued = (klock: KlockInstance, key: string, count: number): Promise<void> =>
  until(async () => (await klock.inspect(key)).waiterCount === count);

describe('[B-049] a waiter whose wake-up is lost', () => {
  it(`because the key was freed before it could listen, is granted at once${scaleNote(20)}`, async () => {
    const holder = await bed.open();
    const rounds = scaled(400, 20);
    for (let round = 0; round < rounds; round++) {
      const key = bed.key();
      const lock = await holder.acquire(key);
      // Never listened before: its subscription is being made while the key comes free.
      const fresh = await bed.open();
      const waiting = timed(fresh.acquire(key, { waitMs: 10_000 }));
      await pause((round % 10) / 2);
      await lock.release();
      const { ms, value } = await waiting;
      expect(ms).toBeLessThan(500);
      await value?.release();
      if (round % 10 === 9) await fresh.close();
    }
  }, 60_000);

  it('because the holder expired, or was deleted by hand, is granted within a second of that', async () => {
    const [a, b] = [await bed.open(), await bed.open()];
    const expiring = bed.key();
    await a.acquire(expiring, { ttlMs: 400, renew: false });
    const afterExpiry = timed(b.acquire(expiring, { waitMs: 30_000 }));
    const deleted = bed.key();
    await a.acquire(deleted, { ttlMs: 60_000, renew: false });
    const afterDelete = timed(b.acquire(deleted, { waitMs: 30_000 }));
    await queued(a, deleted, 1);
    const deletedMs = performance.now();
    await bed.admin.del(nameOf(deleted));
    expect((await afterExpiry).ms).toBeLessThan(400 + 1_000);
    await afterDelete;
    expect(performance.now() - deletedMs).toBeLessThan(1_250);
  });

  it('because an L2 below it was deleted by hand, is granted within a second of that', async () => {
    const [a, b] = [await bed.open(), await bed.open()];
    const l1 = bed.key();
    await a.acquire([l1, 'x'], { ttlMs: 60_000, renew: false });
    const waiting = timed(b.acquire([l1], { waitMs: 30_000 }));
    await queued(a, l1, 1);
    await bed.admin.del(`${nameOf(l1)}/x`);
    expect((await waiting).ms).toBeLessThan(1_500);
  });

  it('because the listening connection was cut while the key came free, is granted within a second', async () => {
    const [a, b] = [await bed.open(), await bed.open()];
    for (let round = 0; round < 5; round++) {
      const key = bed.key();
      const lock = await a.acquire(key);
      const waiting = timed(b.acquire(key, { waitMs: 30_000 }));
      await queued(a, key, 1);
      await bed.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await lock.release();
      const { ms, value } = await waiting;
      expect(ms).toBeLessThan(1_250);
      await value?.release();
    }
  });

  it('because its process died in line, blocks those behind it no longer than its place counts', async () => {
    const a = await bed.open();
    const b = await bed.open();
    const key = bed.key();
    const lock = await a.acquire(key);
    const dying = await process();
    void dying.child.call('acquire', 'w', key, { waitMs: 60_000 }).catch(() => undefined);
    await queued(a, key, 1);
    const behind = timed(b.acquire(key, { waitMs: 60_000 }));
    await queued(a, key, 2);
    await dying.child.kill('SIGKILL');
    const freedMs = performance.now();
    await lock.release();
    await behind;
    expect(performance.now() - freedMs).toBeLessThan(3_000 + 1_250);
  }, 20_000);

  it(`never starves: three clients that ask again at once have shares within a factor of two${scaleNote(20)}`, async () => {
    const clients = await Promise.all(Array.from({ length: 3 }, () => bed.open({ handover: false })));
    const key = bed.key();
    const endMs = performance.now() + scaled(60_000, 20);
    const shares = await Promise.all(
      clients.map(async (klock) => {
        let share = 0;
        for (; performance.now() < endMs; share++)
          await klock.withLock(key, { waitMs: 30_000 }, () => undefined);
        return share;
      }),
    );
    expect(Math.min(...shares)).toBeGreaterThan(10);
    expect(Math.max(...shares) / Math.min(...shares)).toBeLessThanOrEqual(2);
  }, 90_000);
});

describe('the order of waiters', () => {
  it('an L1 between L2 waiters is served in its place: neither starves the other', async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => bed.open()));
    const l1 = bed.key();
    const lock = await clients[0]!.acquire([l1]);
    const order: string[] = [];
    const waits: Promise<unknown>[] = [];
    const asked: [string, string | undefined][] = [
      ['x1', 'x'],
      ['y1', 'y'],
      ['L1', undefined],
      ['x2', 'x'],
      ['y2', 'y'],
    ];
    for (const [at, [name, l2]] of asked.entries()) {
      const key = l2 === undefined ? ([l1] as const) : ([l1, l2] as const);
      waits.push(
        clients[at + 1]!.withLock(key, { waitMs: 20_000 }, async () => {
          order.push(name);
          await pause(20);
        }),
      );
      await queued(clients[0]!, l1, at + 1);
    }
    await lock.release();
    await Promise.all(waits);
    expect(order.slice(0, 2).sort()).toEqual(['x1', 'y1']);
    expect(order[2]).toBe('L1');
    expect(order.slice(3).sort()).toEqual(['x2', 'y2']);
  });

  it('[I11] a waiter that could not ask for longer than its place counts comes back under its old number', async () => {
    const [a, c] = [await bed.open(), await bed.open()];
    const key = bed.key();
    const lock = await a.acquire(key, { ttlMs: 60_000 });
    const paused = await process();
    const first = paused.child.call('acquire', 'w', key, { waitMs: 60_000 });
    await queued(a, key, 1);
    let served = '';
    const second = c.acquire(key, { waitMs: 60_000 }).then((grant) => {
      served += 'second ';
      return grant;
    });
    await queued(a, key, 2);
    paused.child.pause();
    await queued(a, key, 1);
    paused.child.resume();
    await queued(a, key, 2);
    await lock.release();
    await first;
    expect(served).toBe('');
    await paused.child.call('release', 'w');
    await second;
  }, 20_000);

  it('[D11] a line of 20,000 is full: the next is refused at once and told so', async () => {
    const a = await bed.open({ handover: false });
    const key = bed.key();
    await a.acquire(key);
    const arrival = 1_000_000_000_000_000;
    for (let from = 0; from < 20_000; from += 1_000) {
      const entries = Array.from({ length: 1_000 }, (_, at) => [
        String(arrival + from + at),
        `w${from + at}`,
      ]);
      await bed.admin.zadd(`${nameOf(key)}:line`, ...entries.flat());
    }
    const { ms, error } = await timed(a.acquire(key, { waitMs: 10_000 }));
    expect(error).toMatchObject({ code: 'LOCK_UNAVAILABLE', storeCode: 'WAITERS' });
    expect(ms).toBeLessThan(1_000);
    await bed.admin.del(`${nameOf(key)}:line`);
  });
});

describe('a holder in a process of its own', () => {
  const TTL = 600;

  it('[B-013] stopped beyond its lease knows in its first turn that it holds nothing; the next has a larger fence', async () => {
    const a = await process({ instance: { ttlMs: TTL } });
    const b = await bed.open();
    const key = bed.key();
    const { fence } = await a.acquire('lock', key);
    a.child.pause();
    const next = await b.acquire(key, { waitMs: 5_000 });
    await pause(900);
    a.child.resume();
    await until(() => a.wakes.length > 0);
    expect(a.wakes[0]?.['lock']).toEqual({ held: false, remainingMs: 0, aborted: true, reason: 'LOCK_LOST' });
    await pause(TTL);
    expect(a.lost).toHaveLength(1);
    expect(next.fence > BigInt(fence)).toBe(true);
    expect(next.held).toBe(true);
    expect(await a.release('lock')).toBe('lost');
    expect(a.uncaught).toEqual([]);
  }, 20_000);

  it('[B-001] [B-002] stopped while its key was taken and freed again does not get it back by renewing', async () => {
    const a = await process({ instance: { ttlMs: TTL } });
    const b = await bed.open();
    const key = bed.key();
    await a.acquire('lock', key);
    a.child.pause();
    await (await b.acquire(key, { waitMs: 5_000 })).release();
    a.child.resume();
    await until(() => a.lost.length > 0);
    await pause(TTL);
    expect(a.lost).toHaveLength(1);
    expect(await bed.admin.exists(nameOf(key))).toBe(0);
  }, 20_000);

  it('[B-014] with its event loop blocked beyond the lease knows it in the same turn, and renews at most once after', async () => {
    const a = await process({ instance: { ttlMs: TTL } });
    const b = await bed.open();
    const key = bed.key();
    await a.acquire('lock', key);
    const taken = b.acquire(key, { waitMs: 5_000 });
    const after = await a.block('lock', 3 * TTL);
    expect(after).toMatchObject({ held: false, remainingMs: 0, aborted: true });
    expect(after.thrown).toEqual({ code: 'LOCK_LOST', reason: 'expired' });
    expect((await taken).held).toBe(true);
    await pause(TTL);
    expect(a.lost).toHaveLength(1);
    expect(a.uncaught).toEqual([]);
  }, 20_000);

  it.each([
    ['Redis is silent', () => bed.server.pause(), 'unreachable'],
    ['its key is gone', (key: string) => bed.admin.del(nameOf(key)), 'not-held'],
  ] as const)(
    '[B-015] survives strict handling of rejections when every renewal finds that %s, with listeners that throw',
    async (_, harm, reason) => {
      const a = await process({
        instance: { ttlMs: 500 },
        nodeArgs: ['--unhandled-rejections=strict'],
        throwingListener: true,
      });
      const key = bed.key();
      await a.acquire('lock', key);
      await harm(key);
      await until(() => a.lost.length > 0);
      await pause(700);
      bed.server.resume();
      expect(a.lost).toHaveLength(1);
      expect(a.lost[0]).toMatchObject({ reason });
      expect(await a.release('lock')).toBe('lost');
      expect(a.uncaught).toEqual([]);
      await a.child.call('close');
      await a.child.call('exit');
      expect(await a.child.ended).toEqual({ code: 0, signal: null });
    },
    20_000,
  );

  it('[B-003] that dies leaves its lock to the lease: its namesake waits for it and gets a larger fence', async () => {
    const options = { instance: { ttlMs: TTL, clientName: 'worker-1' } };
    const first = await process(options);
    const key = bed.key();
    const { fence } = await first.acquire('lock', key);
    await first.child.kill('SIGKILL');
    const diedMs = performance.now();
    const heir = await process(options);
    const grant = await heir.acquire('lock', key, { waitMs: 2 * TTL + 2_000 });
    expect(performance.now() - diedMs).toBeLessThan(TTL + 1_000 + 500);
    expect(BigInt(grant.fence) > BigInt(fence)).toBe(true);
  }, 20_000);
});
