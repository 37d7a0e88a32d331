// For test/e2e/young-garbage.spec.ts: what calls that are over still keep when only young objects are collected. Argument:
// `memory`, `klock` (with the server in this process, too), or `redis:` and a port.
import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { createKlock, memoryDriver, type KeyInput, type LockDriver } from 'klock/core';
import { klockDriver } from 'klock/client';
import { redisDriver } from 'klock/redis';
import { LockServer } from 'klock/server';
import { serve } from '../support/child-side.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as (options?: { readonly type: 'minor' }) => void;
const [kind = ''] = process.argv.slice(2);

const CALLERS = 64;
const ROUNDS = 15;

async function driverOf(): Promise<LockDriver> {
  if (kind === 'memory') return memoryDriver();
  if (kind.startsWith('redis:')) return redisDriver(new Redis(Number(kind.slice(6)), '127.0.0.1'));
  const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
  await server.start();
  return klockDriver({ url: `klock://127.0.0.1:${server.port}` });
}

// Passed on inside the process, a hot key would hardly reach its store.
const klock = createKlock({ driver: await driverOf(), ttlMs: 30_000, waitMs: 60_000, handover: false });

interface Load {
  readonly keyOf: (caller: number, pair: number) => KeyInput;
  /** Of each caller in a round. */
  readonly pairs: number;
}

const LOADS: Record<string, Load> = {
  'keys of their own': { keyOf: (caller, pair) => [`key-${caller}-${pair % 32}`], pairs: 100 },
  'keys below one L1': { keyOf: (caller, pair) => ['tenant', `key-${caller}-${pair % 32}`], pairs: 100 },
  'one key': { keyOf: () => ['hot'], pairs: 20 },
};

/** `perf_hooks.constants.NODE_PERFORMANCE_GC_MAJOR`. */
const FULL = 4;

let fullCollections = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if ((entry as unknown as { readonly detail: { readonly kind: number } }).detail.kind === FULL)
      fullCollections++;
}).observe({ entryTypes: ['gc'] });

async function oneRound({ keyOf, pairs }: Load): Promise<void> {
  const caller = async (_: unknown, index: number): Promise<void> => {
    for (let pair = 0; pair < pairs; pair++) {
      const lock = await klock.acquire(keyOf(index, pair));
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

/** What has survived two collections of young objects is old: nothing but a full one takes it away. */
async function heapOfOld(): Promise<number> {
  await turn();
  gc({ type: 'minor' });
  gc({ type: 'minor' });
  return process.memoryUsage().heapUsed;
}

serve({
  /** Bytes for each pair that became old although it was over. */
  keptPerPair: async (name: string) => {
    const load = LOADS[name] as Load;
    await oneRound(load);
    gc();
    let kept = 0;
    for (let round = 0, before = await heapOfOld(); round < ROUNDS; round++) {
      const collectedBefore = fullCollections;
      await oneRound(load);
      const after = await heapOfOld();
      if (fullCollections === collectedBefore) kept += Math.max(0, after - before);
      before = after;
    }
    return kept / (ROUNDS * CALLERS * load.pairs);
  },
});
