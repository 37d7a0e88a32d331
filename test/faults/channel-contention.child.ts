// Clients under contention, for test/faults/channel-contention.spec.ts. Argument: the lock server's url.
import { createKlock } from 'klock/core';
import { klockDriver } from 'klock/client';
import { emit, serve } from '../support/child-side.mjs';

const [url = ''] = process.argv.slice(2);
const klock = createKlock({
  ttlMs: 2_000,
  renewEveryMs: 100,
  renewTimeoutMs: 1_000,
  handover: false,
  driver: klockDriver({ url }),
});
/** Milliseconds each took; one without an answer, Infinity. */
let renewals: number[] = [];
const problems: string[] = [];
const warnings: string[] = [];
klock.on('lease.renewed', ({ tookMs }) => renewals.push(tookMs));
klock.on('lock.lost', ({ reason, code }) => problems.push(`lost: ${reason} ${code}`));
klock.on('lease.jeopardy', () => renewals.push(Infinity));
process.on('warning', ({ name }) => warnings.push(name));
process.on('unhandledRejection', (error) => problems.push(String(error)));

/** Takes and gives back until told to stop; how often. */
async function again(key: string, over: () => boolean): Promise<number> {
  let grants = 0;
  while (!over()) {
    await (await klock.acquire(key, { waitMs: 60_000 })).release();
    grants++;
  }
  return grants;
}

serve({
  load: async (waiters: number, ms: number) => {
    const endMs = performance.now() + ms;
    const over = (): boolean => performance.now() > endMs;
    const grants = await Promise.all(Array.from({ length: waiters }, () => again('hot', over)));
    return { grants: grants.reduce((sum, each) => sum + each, 0), least: Math.min(...grants), problems };
  },
  hold: async (key: string) => {
    const lock = await klock.acquire(key);
    emit('holds', lock.fence);
    lock.signal.addEventListener('abort', () => emit('lost', lock.signal.reason));
  },
  /** All at once, with one signal for all of them. */
  abortMany: async (key: string, waiters: number) => {
    const controller = new AbortController();
    const { signal } = controller;
    const waits = Array.from({ length: waiters }, () =>
      klock.acquire(key, { waitMs: 60_000, signal }).then(
        () => 'granted',
        (error: { code: string }) => error.code,
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    return [...new Set(await Promise.all(waits))];
  },
  facts: () => ({ problems, warnings }),
  /** Those since the last question. */
  renewals: () => {
    const since = renewals.map((tookMs) => (tookMs === Infinity ? 1e9 : tookMs));
    renewals = [];
    return since;
  },
  close: () => klock.close({ graceMs: 1 }),
});
