import assert from 'node:assert/strict';
import { ENTER_SECTION, isLockError, type LockEvent } from '../../core/index.js';
import type { ContractCase } from './harness.js';
import { pause, timed, within } from './waiting.js';

/** Fences, leases, loss, release. */
export const leaseCases: readonly ContractCase[] = [
  {
    title:
      '[B-004] [K-085] [I3] fences of one key rise over release, expiry and other clients, and are bigints above 0',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const fences: bigint[] = [];
      const first = await a.acquire(key);
      fences.push(first.fence);
      await first.release();
      const lapsing = await b.acquire(key, { renew: false });
      fences.push(lapsing.fence);
      const third = await a.acquire(key, { waitMs: clients.harness.ttlMs * 3 + 3_000 });
      fences.push(third.fence);
      assert.equal(lapsing.held, false);
      for (const fence of fences) assert.ok(typeof fence === 'bigint' && fence > 0n);
      assert.ok(fences[0]! < fences[1]! && fences[1]! < fences[2]!, `rising: ${fences.join(', ')}`);
    },
  },
  {
    title: '[I3] the fences of an L1 and of the L2 below it are comparable',
    needs: ({ hierarchy }) => hierarchy,
    async run(clients) {
      const klock = await clients.client();
      const l1 = clients.key();
      const fences: bigint[] = [];
      for (const key of [[l1], [l1, 'a'], [l1], [l1, 'b']] as const) {
        const lock = await klock.acquire(key);
        fences.push(lock.fence);
        await lock.release();
      }
      for (let at = 1; at < fences.length; at++)
        assert.ok(fences[at]! > fences[at - 1]!, `rising: ${fences.join(', ')}`);
    },
  },
  {
    title: '[B-059] [D-23] a held lock is renewed far past its ttl',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const lock = await a.acquire(key);
      await pause(clients.harness.ttlMs * 2.5);
      assert.equal(lock.held, true);
      assert.equal(await b.tryAcquire(key), undefined);
      assert.equal(await lock.release(), 'released');
    },
  },
  {
    title: '[B-002] [I9] [L-12] [D-25] [D-51] a late release answers lost and leaves the next holder alone',
    async run(clients) {
      const [a, b, c] = [await clients.client(), await clients.client(), await clients.client()];
      const key = clients.key();
      const first = await a.acquire(key, { renew: false });
      const second = await b.acquire(key, { waitMs: clients.harness.ttlMs * 3 + 3_000 });
      const outcome = await first.release();
      assert.equal(outcome, 'lost');
      assert.equal(second.held, true);
      assert.equal(await c.tryAcquire(key), undefined);
      assert.ok(second.fence > first.fence);
    },
  },
  {
    title:
      '[H-07] [L-13] [D-27] [I10] a lock that is not renewed is lost by its own deadline: once, by signal, done and event, and before anyone else is granted',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const events: Extract<LockEvent, { type: 'lock.lost' }>[] = [];
      using _listener = a.on('lock.lost', (event) => void events.push(event));
      const lock = await a.acquire(key, { renew: false });
      const { signal } = lock;
      let heldAtGrant: boolean | undefined;
      const next = b.acquire(key, { waitMs: clients.harness.ttlMs * 3 + 3_000 }).then((grant) => {
        heldAtGrant = lock.held;
        return grant;
      });
      const end = await within(clients.harness.ttlMs + 2_000, 'the loss', lock.done);
      assert.ok(end.end === 'lost' && end.reason === 'expired');
      assert.equal(signal.aborted, true);
      assert.ok(isLockError(signal.reason, 'LOCK_LOST'));
      assert.equal(lock.remainingMs, 0);
      assert.throws(
        () => lock.assertHeld(),
        (error) => isLockError(error, 'LOCK_LOST'),
      );
      await next;
      assert.equal(heldAtGrant, false);
      assert.equal(events.length, 1);
      assert.equal(events[0]?.reason, 'expired');
    },
  },
  {
    title:
      '[B-018] [K-190] releasing twice answers already-released, and the key stays with whoever took it meanwhile',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const lock = await a.acquire(key);
      assert.equal(await lock.release(), 'released');
      const other = await b.acquire(key);
      assert.equal(await lock.release(), 'already-released');
      assert.equal(other.held, true);
      assert.equal(await a.tryAcquire(key), undefined);
    },
  },
  {
    title: '[K-195] [K-017] concurrent releases of one handle release once and all settle',
    async run(clients) {
      const klock = await clients.client();
      const lock = await klock.acquire(clients.key());
      const outcomes = await Promise.all([lock.release(), lock.release(), lock.release()]);
      assert.equal(outcomes[0], 'released');
      assert.deepEqual(outcomes.slice(1), ['already-released', 'already-released']);
    },
  },
  {
    title: '[B-017] a lock granted after a long wait has at least half of its ttl left',
    async run(clients) {
      const { ttlMs } = clients.harness;
      const [a, b] = [await clients.client(), await clients.client()];
      const leftMs = async (): Promise<number> => {
        const key = clients.key();
        const held = await a.acquire(key);
        const waiting = b.acquire(key, { waitMs: ttlMs * 6 + 3_000 });
        await pause(ttlMs * 2);
        await held.release();
        return (await waiting).remainingMs;
      };
      const enoughMs = ttlMs / 2 - 30;
      // A machine that is busy elsewhere may delay one renewal; where the wait counts, every repeat shows it.
      let mostMs = await leftMs();
      for (let repeat = 0; repeat < 2 && mostMs < enoughMs; repeat++)
        mostMs = Math.max(mostMs, await leftMs());
      assert.ok(mostMs >= enoughMs, `${mostMs} ms of ${ttlMs} left`);
    },
  },
  {
    title: '[H-13] extend moves the end of the lease to now + ttl',
    async run(clients) {
      const { ttlMs } = clients.harness;
      const klock = await clients.client({ renewEveryMs: Math.floor(ttlMs * 0.8) });
      const lock = await klock.acquire(clients.key());
      await pause(ttlMs / 2);
      const before = lock.remainingMs;
      await lock.extend();
      assert.ok(lock.remainingMs > before + ttlMs / 5, `${before} -> ${lock.remainingMs}`);
      await lock.release();
      await assert.rejects(lock.extend(), (error) => isLockError(error, 'LOCK_NOT_HELD'));
    },
  },
  {
    title: '[H-10] [H-12] releaseToken frees by token, refuses a wrong one, and says when nobody holds',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const lock = await a.acquire(key);
      const caller = clients.harness.capabilities.byToken === 'anyone' ? b : a;
      await assert.rejects(
        caller.releaseToken(key, `${lock.token.slice(0, -4)}0000`),
        (error) => isLockError(error, 'INVALID_TOKEN') || isLockError(error, 'LOCK_NOT_HELD'),
      );
      // Its token proves nothing about another key.
      await assert.rejects(caller.releaseToken(clients.key(), lock.token), (error) =>
        isLockError(error, 'LOCK_NOT_HELD'),
      );
      assert.equal(lock.held, true);
      assert.equal(await b.tryAcquire(key), undefined);
      await caller.releaseToken(key, lock.token);
      assert.ok(await within(2_000, 'the next', b.acquire(key)));
      await assert.rejects(caller.releaseToken(clients.key(), lock.token), (error) =>
        isLockError(error, 'LOCK_NOT_HELD'),
      );
    },
  },
  {
    title: '[I10] a handle whose lock is released by its token knows before the store is asked',
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      const lock = await klock.acquire(key);
      const { signal, token } = lock;
      const releasing = klock.releaseToken(key, token);
      assert.deepEqual([lock.held, signal.aborted], [false, true]);
      await releasing;
      assert.deepEqual(
        await within(
          1_000,
          'its end',
          lock.done.then(({ end }) => end),
        ),
        'lost',
      );
      assert.equal(await lock.release(), 'lost');
      const next = await within(2_000, 'the next', klock.acquire(key));
      assert.equal(await next.release(), 'released');
    },
  },
  {
    title: '[H-17] isLocked and inspect say who holds, with the fence, and free when nobody does',
    needs: ({ inspect }) => inspect === 'all',
    async run(clients) {
      const [a, b] = [await clients.client({ clientName: 'orders-api' }), await clients.client()];
      const key = clients.key();
      assert.equal(await b.isLocked(key), false);
      const lock = await a.acquire(key);
      assert.equal(await b.isLocked(key), true);
      const report = await b.inspect(key);
      assert.equal(report.holders.length, 1);
      assert.equal(report.holders[0]?.fence, lock.fence);
      assert.equal(report.holders[0]?.client, 'orders-api');
      assert.ok(
        !JSON.stringify(report, (_, value: unknown) =>
          typeof value === 'bigint' ? String(value) : value,
        ).includes(lock.token),
      );
      await lock.release();
      assert.equal(await b.isLocked(key), false);
    },
  },
  {
    title: '[B-057] atLeastMs keeps the key after a short section, whoever asks, and no longer than that',
    needs: ({ atLeast }) => atLeast,
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const section = await a[ENTER_SECTION](key, { atLeastMs: 400 });
      assert.ok(section);
      await section.leave();
      assert.equal(await b.tryAcquire(key), undefined);
      const { ms } = await timed(b.acquire(key, { waitMs: 5_000 }));
      assert.ok(ms > 200 && ms < 1_500, `free after ${ms} ms`);
    },
  },
  {
    title:
      '[K-196] [B-066] close ends held locks with reason closed, frees them at once and refuses what comes later',
    async run(clients) {
      const [a, b] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const lock = await a.acquire(key);
      const waiting = timed(a.acquire(key, { waitMs: 20_000 }));
      await pause(20);
      const { ms } = await timed(a.close({ graceMs: 100 }));
      assert.ok(ms < 1_500, `closed in ${ms} ms`);
      assert.ok(isLockError((await waiting).error, 'CLOSED'));
      const end = await lock.done;
      assert.ok(end.end === 'lost' && end.reason === 'closed' && end.code === 'CLIENT_CLOSE');
      await assert.rejects(a.acquire(key), (error) => isLockError(error, 'CLOSED'));
      assert.ok(await within(1_500, 'the next', b.acquire(key)));
      await a.close();
    },
  },
];
