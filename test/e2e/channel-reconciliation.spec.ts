import { jest } from '@jest/globals';
import { createKlock, type KlockInstance } from '../../lib/core/index.js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';
import { ChannelSession } from '../../lib/server/channel-session.js';
import { ChannelClientEnd } from '../../lib/session/index.js';
import { advanceUntil, real, until } from '../support/client-rig.js';

/** A third of the lease: when a session is renewed. */
const HEARTBEAT_MS = 20_000;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  for (const end of ends.splice(0).reverse()) await end();
});

/** What a defect would have to forget; nothing that is not broken does. */
interface Memories {
  readonly waiting: Map<number, { readonly callId: number | undefined }>;
  readonly pending: { delete(number: number): unknown; keys(): number[] };
}

interface Scene {
  readonly server: LockServer;
  readonly holder: KlockInstance;
  readonly klock: KlockInstance;
  readonly clock: FakeClock;
  /** Of the session of `klock`, at the server and here. */
  readonly there: Pick<Memories, 'waiting'>;
  readonly here: Pick<Memories, 'pending'>;
}

/** A client on a clock that stands still, whose session is open and idle, and another that holds `k`. */
async function scene(): Promise<Scene> {
  const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
  await server.start();
  ends.push(() => server.close({ graceMs: 50 }));
  const url = `klock://127.0.0.1:${server.port}`;
  const holder = createKlock({ ttlMs: 60_000, driver: klockDriver({ url }) });
  ends.push(() => holder.close({ graceMs: 1 }));
  await holder.acquire('k');
  const attached = jest.spyOn(ChannelSession.prototype, 'attach');
  const asked = jest.spyOn(ChannelClientEnd.prototype, 'ask');
  const clock = new FakeClock();
  const klock = createKlock({ ttlMs: 60_000, handover: false, clock, driver: klockDriver({ url }) });
  ends.push(async () => {
    const closed = klock.close({ graceMs: 1 });
    for (let turn = 0; turn < 20; turn++) {
      await clock.advance(250);
      await real(2);
    }
    await closed;
  });
  await klock.acquire('mine');
  return {
    server,
    holder,
    klock,
    clock,
    there: attached.mock.contexts.at(-1) as Memories,
    here: asked.mock.contexts.at(-1) as Memories,
  };
}

it('[D5] [I7] a waiter that the server has forgotten is asked for again at the next heartbeat, and granted in its turn', async () => {
  const { server, holder, klock, clock, there } = await scene();
  const waiting = klock.acquire('k', { waitMs: Infinity });
  await until(() => there.waiting.size === 1 && server.stats.waiters === 1);
  there.waiting.clear();
  // The engine still has it: what it grants to a number nobody remembers is not taken for an answer by mistake.
  await advanceUntil(clock, () => server.stats.waiters === 2, 1_000, HEARTBEAT_MS / 1_000 + 2);
  expect(there.waiting.size).toBe(1);
  await holder.close({ graceMs: 1 });
  const lock = await waiting;
  expect(lock.held).toBe(true);
  await lock.release();
  await until(() => server.stats.locks === 1 && server.stats.waiters === 0);
});

it('[D5] a waiter that the client has forgotten leaves the queue at the next heartbeat', async () => {
  const { server, klock, clock, here } = await scene();
  void klock.acquire('k', { waitMs: Infinity }).catch(() => undefined);
  await until(() => server.stats.waiters === 1);
  for (const number of here.pending.keys()) here.pending.delete(number);
  await advanceUntil(clock, () => server.stats.waiters === 0, 1_000, HEARTBEAT_MS / 1_000 + 2);
});

it('[D5] a heartbeat of equal accounts brings no list, with waiters and without', async () => {
  const { server, klock, clock } = await scene();
  const read = jest.spyOn(ChannelClientEnd.prototype, 'receive');
  const waits = Array.from({ length: 5 }, () =>
    klock.acquire('k', { waitMs: Infinity }).catch(() => undefined),
  );
  await until(() => server.stats.waiters === 5);
  let renewed = 0;
  klock.on('lease.renewed', () => renewed++);
  await advanceUntil(clock, () => renewed >= 3, 1_000, (4 * HEARTBEAT_MS) / 1_000);
  expect(read.mock.calls.length).toBeGreaterThanOrEqual(3);
  expect(read.mock.calls.flatMap(([frame]) => frame.pages)).toEqual([]);
  expect(waits).toHaveLength(5);
});
