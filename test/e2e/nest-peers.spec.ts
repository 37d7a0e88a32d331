// Failures of other lock packages that no other file here shows: numbers are those of the list they were collected in.
import { createKlock, memoryDriver, memoryStore, type Klock } from 'klock/core';
import { klockDriver } from 'klock/client';
import { LockServer } from 'klock/server';
import { TestKlock } from 'klock/testing';
import { startCompiled } from '../support/compiled-child.js';
import { rejection, sleep } from './nest-support.js';

describe('a lock of this package, where others fail,', () => {
  let server: LockServer;
  const opened: Klock[] = [];
  beforeAll(async () => {
    server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
    await server.start();
  });
  afterEach(async () => void (await Promise.all(opened.splice(0).map((klock) => klock.close()))));
  afterAll(() => server.close());

  const store = memoryStore();
  const clients: Record<string, () => Klock> = {
    memory: () => createKlock({ driver: memoryDriver({ store }) }),
    klock: () => createKlock({ driver: klockDriver({ url: `klock://${server.address}` }) }),
  };
  const open = (kind: string): Klock => {
    const klock = clients[kind]!();
    opened.push(klock);
    return klock;
  };

  it.each(['memory', 'klock'])(
    '(5) is not freed by the timeout of another caller in the same process: %s',
    async (kind) => {
      const klock = open(kind);
      const winner = await klock.acquire('five');
      const losers = Array.from({ length: 5 }, () => rejection(klock.acquire('five', { waitMs: 50 })));
      for (const { code } of await Promise.all(losers)) expect(code).toBe('LOCK_TIMEOUT');
      expect(winner.held).toBe(true);
      expect(await open(kind).tryAcquire('five')).toBeUndefined();
      expect(await winner.release()).toBe('released');
    },
  );

  it.each([50, 100, 333, 1_500])(
    '(9) with a lease of %i ms is renewed about three times a lease, not more',
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

  it.each(['memory', 'klock'])(
    '(10) lets a process end at once that finishes its work between renewals and closes: %s',
    async (kind) => {
      const args = [kind === 'memory' ? kind : `klock://${server.address}`];
      const child = await startCompiled('test/e2e/nest-keys.child.ts', { args });
      void child.call('finish').catch(() => undefined);
      const { at } = await child.event('closed');
      expect(await child.ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - at).toBeLessThan(1_000);
    },
  );

  it('(13) leaves nothing behind of keys that were used once', async () => {
    const child = await startCompiled('test/e2e/nest-keys.child.ts', { args: [`klock://${server.address}`] });
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
  }, 60_000);

  it.each(['memory', 'klock'])(
    '(15) is shared by eight eager workers within a factor of two: %s',
    async (kind) => {
      const grants = Array<number>(8).fill(0);
      let going = true;
      const worker = async (index: number): Promise<void> => {
        const klock = open(kind);
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
