import assert from 'node:assert/strict';
import type { LockEvent, LockHandle } from '../../core/index.js';
import type { ContractCase } from './harness.js';
import { pause, within } from './waiting.js';

/** The old holder hears of it at its next renewal, which is a third of the lease away, or a fraction of a second later. */
const HEARS_WITHIN_MS = 5_000;

/** What an operator may do to locks of others. */
export const revokeCases: readonly ContractCase[] = [
  {
    title:
      '[B-081] a revoked holder loses its lock as revoked, once; the next waiter holds with a larger fence, and the late release answers lost',
    needs: ({ revoke }) => revoke,
    async run(clients) {
      const [holder, waiter, operator] = [
        await clients.client({ clientName: 'batch' }),
        await clients.client(),
        await clients.client(),
      ];
      const key = clients.key();
      const events: Extract<LockEvent, { type: 'lock.lost' }>[] = [];
      using _listener = holder.on('lock.lost', (event) => void events.push(event));
      const lock = await holder.acquire(key, { metadata: { job: '7' } });
      const { signal } = lock;
      const next = waiter.acquire(key, { waitMs: HEARS_WITHIN_MS });
      await pause(50);
      const { ended, endedCount } = await operator.revoke(key, { fence: lock.fence });
      assert.deepEqual(
        ended.map((was) => [was.key, was.fence, was.client, was.metadata]),
        [[[key], lock.fence, 'batch', { job: '7' }]],
      );
      assert.equal(endedCount, 1);
      const granted = await within(HEARS_WITHIN_MS, 'the next grant', next);
      assert.ok(granted.fence > lock.fence, `${granted.fence} is above ${lock.fence}`);
      const end = await within(HEARS_WITHIN_MS + clients.harness.ttlMs, 'the loss', lock.done);
      assert.ok(
        end.end === 'lost' && end.reason === 'revoked' && end.code === 'REVOKED',
        JSON.stringify(end),
      );
      assert.deepEqual(
        [lock.held, signal.aborted, (signal.reason as Error).name],
        [false, true, 'LockLostError'],
      );
      assert.equal(await lock.release(), 'lost');
      assert.deepEqual(
        events.map(({ reason, code }) => [reason, code]),
        [['revoked', 'REVOKED']],
      );
      assert.equal(granted.held, true);
      assert.equal(await granted.release(), 'released');
    },
  },
  {
    title: '[B-081] a fence that is not the holder’s ends nothing, and a repeat says that nothing was held',
    needs: ({ revoke }) => revoke,
    async run(clients) {
      const [holder, operator] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const first = await holder.acquire(key);
      await first.release();
      const second = await holder.acquire(key);
      assert.deepEqual((await operator.revoke(key, { fence: first.fence })).ended, []);
      assert.equal(second.held, true);
      assert.equal((await operator.revoke(key)).endedCount, 1);
      const repeat = await operator.revoke(key, { fence: second.fence });
      assert.deepEqual([repeat.ended, repeat.endedCount], [[], 0]);
      assert.deepEqual((await operator.revoke(clients.key())).ended, []);
    },
  },
  {
    title: '[B-081] what was revoked is not held again by renewals of its old holder',
    needs: ({ revoke }) => revoke,
    async run(clients) {
      const [holder, operator] = [await clients.client(), await clients.client()];
      const [key, other] = [clients.key(), clients.key()];
      const lock = await holder.acquire(key);
      const kept = await holder.acquire(other);
      await operator.revoke(key);
      await pause(clients.harness.ttlMs * 1.5);
      assert.equal((await operator.inspect(key)).locked, false);
      assert.deepEqual([lock.held, kept.held], [false, true]);
      assert.equal(await kept.release(), 'released');
    },
  },
  {
    title: '[B-081] a client that revokes its own lock has lost it when the answer is there',
    needs: ({ revoke }) => revoke,
    async run(clients) {
      const klock = await clients.client();
      const key = clients.key();
      const lock = await klock.acquire(key);
      assert.equal((await klock.revoke(key)).endedCount, 1);
      await within(HEARS_WITHIN_MS, 'the loss', lock.done);
      assert.equal(lock.held, false);
      assert.ok(await klock.tryAcquire(key), 'free again');
    },
  },
  {
    title:
      '[B-081] [D13] a lock that was passed on inside its process is ended by the fence of whoever holds it now',
    needs: ({ revoke }) => revoke,
    async run(clients) {
      const [holder, operator] = [await clients.client(), await clients.client()];
      const key = clients.key();
      const waits = [1, 2, 3].map(() => holder.acquire(key, { waitMs: HEARS_WITHIN_MS }));
      const first = await (waits[0] as Promise<LockHandle>);
      await first.release();
      const second = await (waits[1] as Promise<LockHandle>);
      assert.equal((await operator.revoke(key, { fence: second.fence })).endedCount, 1);
      const end = await within(HEARS_WITHIN_MS, 'the loss', second.done);
      assert.ok(end.end === 'lost' && end.reason === 'revoked', JSON.stringify(end));
      const third = await within(HEARS_WITHIN_MS, 'the next grant', waits[2] as Promise<LockHandle>);
      assert.ok(third.held && third.fence > second.fence);
      assert.equal(await third.release(), 'released');
    },
  },
  {
    title: '[B-081] an L1 is revoked without what is held below it, unless that is asked for',
    needs: ({ revoke, hierarchy }) => revoke && hierarchy,
    async run(clients) {
      const [holder, operator] = [await clients.client(), await clients.client()];
      const l1 = clients.key();
      const [x, y] = [await holder.acquire([l1, 'x']), await holder.acquire([l1, 'y'])];
      assert.equal((await operator.revoke(l1)).endedCount, 0);
      assert.equal((await operator.revoke([l1, 'z'])).endedCount, 0);
      const { ended, endedCount } = await operator.revoke(l1, { below: true });
      assert.equal(endedCount, 2);
      assert.deepEqual(ended.map(({ key }) => key[1]).sort(), ['x', 'y']);
      const whole = await within(HEARS_WITHIN_MS, 'the whole', operator.acquire(l1));
      assert.ok(whole.fence > x.fence && whole.fence > y.fence);
      await Promise.all([x.done, y.done]);
    },
  },
];
