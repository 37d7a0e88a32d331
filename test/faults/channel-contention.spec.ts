import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { LockServerProcess } from '../support/lock-server.js';
import { scaled, scaleNote } from '../support/scale.js';

const CHILD = 'test/faults/channel-contention.child.ts';
const LEASE_MS = 2_000;
const FACTOR = 5;
const WAITERS = scaled(800, 4);
const RUN_MS = scaled(25_000, FACTOR);

interface Facts {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

interface Load {
  readonly grants: number;
  /** Of the waiter that had the fewest. */
  readonly least: number;
  readonly problems: readonly string[];
}

interface Round {
  readonly loads: readonly Load[];
  readonly renewals: readonly number[];
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serverProcess(): Promise<LockServerProcess> {
  const server = await LockServerProcess.start();
  ends.push(() => server.kill());
  return server;
}

async function clientProcess(server: LockServerProcess): Promise<Child> {
  const child = await startCompiled(CHILD, { args: [`klock://${server.address}`] });
  ends.push(() => child.kill());
  return child;
}

function p99(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Infinity;
}

it(`[D8] [I7] a lock held quietly outlives 4 processes of ${WAITERS} waiters on another key: never lost, p99 of its renewals below a third of the lease${scaleNote(FACTOR)}`, async () => {
  const server = await serverProcess();
  const [quiet, ...loud] = await Promise.all([1, 2, 3, 4, 5].map(() => clientProcess(server)));
  if (quiet === undefined) throw new Error('no such process');
  await quiet.call('hold', 'quiet');
  const round = async (): Promise<Round> => {
    await quiet.call('renewals');
    const loads = await Promise.all(loud.map((child) => child.call<Load>('load', WAITERS, RUN_MS)));
    return { loads, renewals: await quiet.call<number[]>('renewals') };
  };
  let last = await round();
  // A machine that does other work too may miss it; one that misses it again and again has no excuse.
  for (let again = 0; again < 2 && p99(last.renewals) >= LEASE_MS / 3; again++) last = await round();
  const { loads, renewals } = last;
  expect(await quiet.call<Facts>('facts')).toMatchObject({ problems: [] });
  expect(loads.flatMap(({ problems }) => problems)).toEqual([]);
  expect(renewals.length).toBeGreaterThan(RUN_MS / 1_000);
  expect(p99(renewals)).toBeLessThan(LEASE_MS / 3);
  // Contention it was, and every waiter had its turns.
  for (const { grants, least } of loads) expect([grants > WAITERS, least > 0]).toEqual([true, true]);
  expect(await server.stats()).toMatchObject({ locks: 1, waiters: 0, detached: 0 });
  if (process.env.KLOCK_LONG === '1')
    console.info(JSON.stringify({ loads, renewals: renewals.length, p99: p99(renewals) }));
}, 120_000);

it('[K-151] a thousand acquires ended by one signal are ended without a warning of a leak', async () => {
  const server = await serverProcess();
  const [holder, waiter] = await Promise.all([clientProcess(server), clientProcess(server)]);
  await holder.call('hold', 'k');
  expect(await waiter.call('abortMany', 'k', 1_000)).toEqual(['LOCK_ABORTED']);
  expect(await waiter.call<Facts>('facts')).toMatchObject({ problems: [], warnings: [] });
}, 60_000);
