import { createKlock, type KlockInstance } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';
import { until } from '../support/client-rig.js';
import { scaled, scaleNote } from '../support/scale.js';

const FACTOR = 2;
const WAITERS = scaled(4_000, FACTOR);

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

it(`[K-141] [I7] ${WAITERS} waiters of one process over the six calls all get into line, and the first of them the lock; no heartbeat is missed${scaleNote(FACTOR)}`, async () => {
  const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false }, { channel: false });
  await server.start();
  ends.push(() => server.close({ graceMs: 0 }));
  const client = (): KlockInstance => {
    const klock = createKlock({
      ttlMs: 30_000,
      handover: false,
      driver: klockDriver({ url: `klock://${server.address}` }),
    });
    ends.push(() => klock.close({ graceMs: 1 }));
    return klock;
  };
  const [holder, klock] = [client(), client()];
  const problems: string[] = [];
  klock.on('lock.lost', ({ code }) => problems.push(code));
  klock.on('lease.jeopardy', ({ cause }) => problems.push(String(cause)));
  klock.on('store.unavailable', ({ cause }) => problems.push(String(cause)));
  const lock = await holder.acquire('k');
  const controller = new AbortController();
  const { signal } = controller;
  const codes = new Set<string>();
  const waits = Array.from({ length: WAITERS }, () =>
    klock.acquire('k', { waitMs: 120_000, signal }).then(
      (won) => won,
      (error: { code: string }) => void codes.add(error.code),
    ),
  );
  await until(() => server.stats.waiters === WAITERS, 100_000);
  await lock.release();
  expect(await waits[0]).toMatchObject({ held: true });
  expect(problems).toEqual([]);
  controller.abort();
  await Promise.all(waits);
  expect([...codes]).toEqual(['LOCK_ABORTED']);
}, 180_000);
