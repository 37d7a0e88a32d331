import assert from 'node:assert/strict';
import { isLockError, systemClock, type LockHandle } from '../../core/index.js';
import type { ContractCase } from './harness.js';
import { pause, timed, within } from './waiting.js';

/** `withLock`, reentry, cancellation, bad input. */
export const sectionCases: readonly ContractCase[] = [
  {
    title: '[H-18] [H-19] withLock holds for the section, returns its result and frees the key after it',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      // Asked from outside the section's flow: inside it, the question would be a reentry.
      let ask: () => void = () => undefined;
      const asked = new Promise<void>((resolve) => (ask = resolve)).then(() => b.tryAcquire(key));
      const result = await a.withLock(key, async (lock) => {
        assert.equal(lock.held, true);
        ask();
        assert.equal(await asked, undefined);
        return 7;
      });
      assert.equal(result, 7);
      assert.ok(await b.tryAcquire(key));
    },
  },
  {
    title:
      '[H-19] [B-079] an error of the section passes through as the very same value and the key is free at once',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const frozen = Object.freeze({ odd: true });
      for (const thrown of [new TypeError('mine'), undefined, frozen]) {
        const { error } = await timed(
          a.withLock(key, () => {
            // What is no Error must pass through unchanged too.
            // eslint-disable-next-line @typescript-eslint/only-throw-error
            throw thrown;
          }),
        );
        assert.equal(error, thrown);
        const next = await b.tryAcquire(key);
        assert.ok(next, 'free at once');
        await next.release();
      }
    },
  },
  {
    title:
      '[B-014] [H-21] [WH-01] a section that outlives its lock rejects with LockLostError and its result attached',
    async run(clients) {
      const klock = await clients.client();
      const { error } = await timed(
        klock.withLock(clients.key(), { renew: false }, async (lock) => {
          await lock.done;
          return 7;
        }),
      );
      assert.ok(isLockError(error, 'LOCK_LOST'));
      assert.equal((error as { result?: unknown }).result, 7);
    },
  },
  {
    title: '[B-079] maxHoldMs ends a section that never settles: signal, LockLostError max-hold, key free',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      let signal: AbortSignal | undefined;
      const { error, ms } = await timed(
        a.withLock(key, { maxHoldMs: 150 }, (lock) => {
          signal = lock.signal;
          return new Promise(() => undefined);
        }),
      );
      assert.ok(
        isLockError(error, 'LOCK_LOST') && (error as { reason?: string }).reason === 'max-hold',
        String(error),
      );
      assert.ok(ms < 1_500);
      assert.equal(signal?.aborted, true);
      assert.ok(await within(1_500, 'the next', b.acquire(key)));
    },
  },
  {
    title:
      '[B-078] a nested section of the same key is refused at once, and shares the lock when reentry is count',
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      await klock.withLock(key, async (outer) => {
        const refused = await timed(klock.withLock(key, { waitMs: 30_000 }, () => 1));
        assert.ok(isLockError(refused.error, 'LOCK_REENTRY'));
        assert.ok(refused.ms < 500);
        await klock.withLock(key, { reentry: 'count' }, (inner) => {
          assert.equal(inner.fence, outer.fence);
          assert.equal(inner.token, outer.token);
        });
        assert.equal(outer.held, true);
      });
    },
  },
  {
    title: '[B-078] a timer that runs after its section has ended acquires normally',
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      const later = await klock.withLock(key, () => ({
        run: pause(30).then(() => klock.withLock(key, () => 'ran')),
      }));
      assert.equal(await later.run, 'ran');
    },
  },
  {
    title: '[L-05] [L-06] an owner re-enters its own key and the grant ends with the last handle',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const owner = a.owner();
      const outer = await a.acquire(key, { owner });
      const inner = await a.acquire(key, { owner, reentry: 'count' });
      assert.equal(inner.fence, outer.fence);
      await outer.release();
      assert.equal(await b.tryAcquire(key), undefined);
      await inner.release();
      assert.ok(await within(1_000, 'the next', b.acquire(key)));
    },
  },
  {
    title:
      '[B-025] an aborted signal sends nothing; an abort while waiting rejects at once with the reason as cause',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const reason = new Error('mine');
      const early = await timed(a.acquire(key, { signal: AbortSignal.abort(reason) }));
      assert.ok(isLockError(early.error, 'LOCK_ABORTED'));
      assert.equal((early.error as Error).cause, reason);
      await using _held = await b.acquire(key);
      const controller = new AbortController();
      const waiting = timed(a.acquire(key, { waitMs: 60_000, signal: controller.signal }));
      await pause(50);
      const abortedMs = systemClock.monoMs();
      controller.abort(reason);
      const late = await waiting;
      assert.ok(isLockError(late.error, 'LOCK_ABORTED'));
      assert.equal((late.error as Error).cause, reason);
      assert.ok(systemClock.monoMs() - abortedMs < 500);
    },
  },
  {
    title: '[H-22] [B-025] a release by a section whose signal was aborted meanwhile still happens',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const controller = new AbortController();
      const mine = new Error('mine');
      const { error } = await timed(
        a.withLock(key, { signal: controller.signal }, () => {
          controller.abort();
          throw mine;
        }),
      );
      assert.equal(error, mine);
      assert.ok(await within(1_000, 'the next', b.acquire(key)));
    },
  },
  {
    title: '[B-005] durations that are no sane integers are refused before anything is sent',
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      for (const value of [0, -1, NaN, Infinity, -Infinity, 123.45, '5000', null, 1e21, 10n, true]) {
        await assert.rejects(
          klock.acquire(key, { ttlMs: value as number }),
          (error) => isLockError(error, 'INVALID_OPTION') && error.message.includes('ttlMs'),
        );
      }
      for (const value of [-1, NaN, 0.5, '1', null]) {
        await assert.rejects(
          klock.acquire(key, { waitMs: value as number }),
          (error) => isLockError(error, 'INVALID_OPTION') && error.message.includes('waitMs'),
        );
      }
      assert.ok(await klock.tryAcquire(key), 'nothing was taken');
    },
  },
  {
    title: '[B-035] keys too long, empty or ill-formed are refused by name before anything is sent',
    async run(clients) {
      const klock = await clients.client();
      for (const key of [
        '',
        'k'.repeat(513),
        'k'.repeat(5 * 1024 * 1024),
        '\ud800',
        ['a', ''],
        ['a', 'b', 'c'],
        [],
        7,
      ]) {
        await assert.rejects(
          klock.acquire(key as string),
          (error) => isLockError(error, 'INVALID_KEY') && error.message.length < 1_024,
        );
      }
      assert.ok(await klock.tryAcquire('ключ-😀\n' + clients.key()), 'any well-formed text is a key');
    },
  },
  {
    title: 'holdUntil keeps the lock until its work settles although the section has ended',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      let commit: () => void = () => undefined;
      const committed = new Promise<void>((resolve) => (commit = resolve));
      let handle: LockHandle | undefined;
      await a.withLock(key, (lock) => {
        handle = lock;
        lock.holdUntil(committed);
      });
      assert.equal(handle?.held, true);
      assert.equal(await b.tryAcquire(key), undefined);
      commit();
      assert.ok(await within(1_000, 'the next', b.acquire(key)));
      assert.equal(handle?.held, false);
    },
  },
];
