import { createKlock, noTelemetry, type LockHandle } from '../../lib/core/index.js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { Ask, Outcome } from '../../lib/rpc/index.js';
import { LockServer } from '../../lib/server/index.js';
import { real, until } from '../support/client-rig.js';
import { operationOf, RawChannel } from '../support/raw-channel.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function lockServer(clock?: FakeClock): Promise<LockServer> {
  const server = new LockServer({
    address: '127.0.0.1:0',
    rateLimit: false,
    ...(clock === undefined ? {} : { clock }),
  });
  await server.start();
  ends.push(() => server.close({ graceMs: 0 }));
  return server;
}

async function rawClient(server: LockServer): Promise<RawChannel> {
  const channel = new RawChannel(server.address);
  ends.push(() => channel.close());
  await channel.welcomed();
  return channel;
}

const frames = (channels: readonly RawChannel[]): number =>
  channels.reduce((sum, channel) => sum + channel.frames.length, 0);

describe('who is woken', () => {
  it('by the release of a key with 1,000 waiters in 20 sessions: the first of them, by one frame to its session alone', async () => {
    const server = await lockServer();
    const holder = await rawClient(server);
    holder.ask(1, [operationOf({ l1: 'k' })]);
    await holder.answer(1);
    const waiters = await Promise.all(Array.from({ length: 20 }, () => rawClient(server)));
    for (const [index, channel] of waiters.entries()) {
      const waits = Array.from({ length: 50 }, () => operationOf({ l1: 'k', waitMs: 60_000 }));
      channel.ask(1, waits);
      await until(() => server.stats.waiters === (index + 1) * 50);
    }
    const before = frames(waiters);
    holder.ask(2, [operationOf({ ask: Ask.Release, of: 1 })]);
    await waiters[0]?.answer(1);
    await real(200);
    expect(frames(waiters) - before).toBe(1);
    expect(waiters.map(({ answers }) => answers.length)).toEqual([1, ...new Array<number>(19).fill(0)]);
    expect(waiters[0]?.answers[0]).toMatchObject({ operation: 1, outcome: Outcome.Granted });
    expect(server.stats.waiters).toBe(999);
  });

  it('by the release of a whole L1: everybody below it up to the next who wants all of it, once each, and nobody behind', async () => {
    const server = await lockServer();
    const holder = await rawClient(server);
    holder.ask(1, [operationOf({ l1: 't' })]);
    await holder.answer(1);
    const l2 = await Promise.all(Array.from({ length: 10 }, () => rawClient(server)));
    for (const [index, channel] of l2.entries()) {
      // Two for each key, of which only the first can be served.
      const wait = operationOf({ l1: 't', l2: `r${index}`, waitMs: 60_000 });
      channel.ask(1, [wait, wait]);
    }
    await until(() => server.stats.waiters === 20);
    const whole = await rawClient(server);
    whole.ask(1, [operationOf({ l1: 't', waitMs: 60_000 })]);
    await until(() => server.stats.waiters === 21);
    const behind = await rawClient(server);
    behind.ask(1, [operationOf({ l1: 't', l2: 'late', waitMs: 60_000 })]);
    await until(() => server.stats.waiters === 22);
    const before = frames([...l2, whole, behind]);
    holder.ask(2, [operationOf({ ask: Ask.Release, of: 1 })]);
    await Promise.all(l2.map((channel) => channel.answer(1)));
    await real(200);
    expect(frames([...l2, whole, behind]) - before).toBe(10);
    expect(l2.map(({ answers }) => answers.map(({ operation }) => operation))).toEqual(l2.map(() => [1]));
    expect([whole.answers, behind.answers, server.stats.waiters]).toEqual([[], [], 12]);
  });
});

describe('timers', () => {
  it('there are no more of them for 1,000 held locks and 1,000 waiters than for one of each, in the client and in the server', async () => {
    const [here, there] = [new FakeClock(), new FakeClock()];
    const server = await lockServer(there);
    const klock = createKlock({
      ttlMs: 60_000,
      handover: false,
      clock: here,
      driver: klockDriver({ url: `klock://${server.address}` }),
    });
    ends.push(async () => {
      const closed = klock.close({ graceMs: 1 });
      for (let turn = 0; turn < 20; turn++) {
        await Promise.all([here.advance(250), there.advance(250)]);
        await real(2);
      }
      await closed;
    });
    const held: LockHandle[] = [await klock.acquire('k0')];
    const wait = (): void => void klock.acquire('k0', { waitMs: 30_000 }).catch(() => undefined);
    wait();
    await until(() => server.stats.waiters === 1);
    const few = [here.timers, there.timers];
    for (let number = 1; number < 1_000; number++) held.push(await klock.acquire(`k${number}`));
    for (let number = 1; number < 1_000; number++) wait();
    await until(() => server.stats.waiters === 1_000);
    expect([here.timers, there.timers]).toEqual(few);
    await Promise.all(held.slice(1).map((lock) => lock.release()));
    // One more at most, for the end of what was asked last.
    expect(here.timers).toBeLessThanOrEqual((few[0] ?? 0) + 1);
    expect(there.timers).toBeLessThanOrEqual((few[1] ?? 0) + 1);
  });
});

describe('callers of one process', () => {
  it('64 that ask for one key in one turn are served with two grants of the server', async () => {
    const server = await lockServer();
    const handed: string[] = [];
    const klock = createKlock({
      ttlMs: 60_000,
      driver: klockDriver({ url: `klock://${server.address}` }),
      telemetry: { ...noTelemetry, count: (name) => void (name === 'lock.handover' && handed.push(name)) },
    });
    ends.push(() => klock.close({ graceMs: 1 }));
    await (await klock.acquire('other')).release();
    const section = async (): Promise<bigint> => {
      const lock = await klock.acquire('hot');
      await lock.release();
      return lock.fence;
    };
    const fences = await Promise.all(Array.from({ length: 64 }, section));
    expect(handed).toHaveLength(62);
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => (a < b ? -1 : 1)));
  });
});
