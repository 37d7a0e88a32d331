import assert from 'node:assert/strict';
import { isLockError } from '../../core/index.js';
import type { ContractCase } from './harness.js';
import { pause, timed, within } from './waiting.js';

/** Who may hold what at the same time, and in which order. */
export const exclusionCases: readonly ContractCase[] = [
  {
    title: '[L-01] [H-01] [H-09] grants a free key and frees it on release',
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      const lock = await klock.acquire(key);
      assert.equal(lock.held, true);
      assert.deepEqual(lock.key, [key]);
      assert.equal(await lock.release(), 'released');
      assert.equal(lock.held, false);
      assert.ok(await klock.tryAcquire(key), 'free again');
    },
  },
  {
    title: '[L-02] [H-05] tryAcquire of a key another client holds answers undefined at once',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      await using _held = await a.acquire(key);
      const { ms, value } = await timed(b.tryAcquire(key));
      assert.equal(value, undefined);
      assert.ok(ms < 1_000, `asked once, took ${ms} ms`);
    },
  },
  {
    title: '[B-003] [I2] of ten acquires of one key in one client exactly one succeeds',
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      const locks = await Promise.all(Array.from({ length: 10 }, () => klock.tryAcquire(key)));
      assert.equal(locks.filter((lock) => lock !== undefined).length, 1);
    },
  },
  {
    title:
      '[B-003] [H-02] every grant has a token of its own, 128 bits that are neither pid nor client name nor key',
    async run(clients) {
      const klock = await clients.client({ clientName: 'worker-1' });
      const key = clients.key();
      const tokens = new Set<string>();
      for (let turn = 0; turn < 5; turn++) {
        const lock = await klock.acquire(key);
        tokens.add(lock.token);
        await lock.release();
      }
      assert.equal(tokens.size, 5);
      for (const token of tokens) {
        assert.ok(!token.includes('worker-1') && !token.includes(key));
        assert.ok(token.length >= 22, 'at least 128 bits of text');
      }
    },
  },
  {
    title: '[K-001] [K-002] an L1 and an L2 below it exclude each other, both ways',
    needs: ({ hierarchy }) => hierarchy,
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const l1 = clients.key();
      const whole = await a.acquire([l1]);
      assert.equal(await b.tryAcquire([l1, 'x']), undefined);
      await whole.release();
      const part = await a.acquire([l1, 'x']);
      assert.equal(await b.tryAcquire([l1]), undefined);
      await part.release();
      assert.ok(await b.tryAcquire([l1]));
    },
  },
  {
    title: '[K-004] [K-005] different L2 of one L1, and different L1, are held at the same time',
    needs: ({ hierarchy }) => hierarchy,
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const l1 = clients.key();
      assert.ok(await a.tryAcquire([l1, 'x']));
      assert.ok(await b.tryAcquire([l1, 'y']));
      assert.ok(await b.tryAcquire([clients.key()]));
    },
  },
  {
    title: '[K-006] a later L2 does not overtake a waiting L1, even if its own key is free',
    needs: ({ hierarchy, fair }) => hierarchy && fair,
    async run(clients) {
      const [a, b, c] = [await clients.client(), await clients.client(), await clients.client()];
      const l1 = clients.key();
      const part = await a.acquire([l1, 'x']);
      const order: string[] = [];
      const whole = b.acquire([l1], { waitMs: 5_000 }).then((lock) => (order.push('l1'), lock));
      await pause(50);
      const other = c.acquire([l1, 'y'], { waitMs: 5_000 }).then((lock) => (order.push('l2'), lock));
      await pause(50);
      assert.deepEqual(order, []);
      await part.release();
      await (await whole).release();
      await (await other).release();
      assert.deepEqual(order, ['l1', 'l2']);
    },
  },
  {
    title: '[K-010] waiters of one key are granted in arrival order',
    needs: ({ fair }) => fair,
    async run(clients) {
      const holder = await clients.client();
      const key = clients.key();
      const first = await holder.acquire(key);
      const order: number[] = [];
      const waits: Promise<unknown>[] = [];
      for (let place = 0; place < 5; place++) {
        const waiter = await clients.client();
        waits.push(waiter.withLock(key, { waitMs: 10_000 }, () => void order.push(place)));
        await pause(40);
      }
      await first.release();
      await Promise.all(waits);
      assert.deepEqual(order, [0, 1, 2, 3, 4]);
    },
  },
  {
    title: '[B-009] [B-053] [D-56] keys that join to the same text are different locks',
    async run(clients) {
      const klock = await clients.client();
      const base = clients.key();
      const keys: ([string] | [string, string])[] = [
        [base],
        [`${base}/`],
        [`${base}/a`],
        [base + 'b', 'a'],
        [`${base}b/a`],
        [`${base}:`, 'a'],
        [base + 'c', ':a'],
        [`${base}*`],
        [`${base}?`],
        [`${base}[x]`],
        [`${base}{x}`],
        [`{${base}`],
        [`${base}\u0000`],
        [`${base}\u00ff`],
        [`${base}é😀`],
        [base.toUpperCase()],
      ];
      for (const key of keys) assert.ok(await klock.tryAcquire(key), `independent: ${JSON.stringify(key)}`);
    },
  },
  {
    title:
      '[D-20] [D-52] [I1] fifty workers of five clients never overlap in a section and all get their turn',
    async run(clients) {
      const instances = await Promise.all(Array.from({ length: 5 }, () => clients.client()));
      const key = clients.key();
      let inside = 0;
      let done = 0;
      const work = async (): Promise<void> => {
        assert.equal(++inside, 1, 'alone inside');
        await pause(1);
        inside--;
        done++;
      };
      await Promise.all(
        Array.from(
          { length: 50 },
          async (_, index) => await instances[index % 5]?.withLock(key, { waitMs: 30_000 }, work),
        ),
      );
      assert.equal(done, 50);
    },
  },
  {
    title:
      '[K-150] [H-03] [D-21] a wait ends with LockTimeoutError after waitMs, neither early nor much later',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      await using _held = await a.acquire(key);
      const { ms, error } = await timed(b.acquire(key, { waitMs: 200 }));
      assert.ok(isLockError(error, 'LOCK_TIMEOUT'), `LOCK_TIMEOUT, got ${String(error)}`);
      assert.ok(ms >= 190 && ms < 1_500, `after ${ms} ms`);
    },
  },
  {
    title:
      '[B-011] [I7] a timed-out or aborted waiter leaves nothing behind: the key is free the moment its holder releases',
    async run(clients) {
      const [a, b, c] = [await clients.client(), await clients.client(), await clients.client()];
      const key = clients.key();
      const held = await a.acquire(key);
      const gone = new AbortController();
      const waits = [
        timed(b.acquire(key, { waitMs: 60 })),
        timed(b.acquire(key, { waitMs: 60_000, signal: gone.signal })),
      ];
      await pause(100);
      gone.abort();
      const [late, aborted] = await Promise.all(waits);
      assert.ok(isLockError(late?.error, 'LOCK_TIMEOUT'));
      assert.ok(isLockError(aborted?.error, 'LOCK_ABORTED'));
      await held.release();
      const next = await within(1_000, 'the next acquire', c.acquire(key, { waitMs: 2_000 }));
      assert.equal(next.held, true);
    },
  },
  {
    title: '[K-160] [B-020] a wait that ends without a lock costs no other lock of its client',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const [key, other] = [clients.key(), clients.key()];
      const mine = await b.acquire(other);
      await using _held = await a.acquire(key);
      for (let turn = 0; turn < 3; turn++) {
        assert.ok(isLockError((await timed(b.acquire(key, { waitMs: 30 }))).error, 'LOCK_TIMEOUT'));
      }
      await pause(50);
      assert.equal(mine.held, true);
      assert.equal(await mine.release(), 'released');
    },
  },
];
