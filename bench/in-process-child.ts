import { serve } from './children/serve.js';
import type { Key } from './contenders/contender.js';
import { openLocalLock, type LocalLockName } from './in-process/index.js';
import type { LocalLock } from './in-process/contender.js';
import { keysFor } from './loads/keys.js';

// One process of one in-process lock.

export type LocalCase = 'alone' | 'together' | 'keys1024' | 'mix5' | 'mix20';

const WAITERS = 64;
const KEYS = 1_024;

let lock: LocalLock | undefined;

function run(local: LocalLock, which: LocalCase, pairs: number): Promise<void> {
  if (which === 'alone') return local.alone(pairs);
  if (which === 'together') return local.together(pairs, WAITERS);
  if (local.keyed === undefined) throw new Error(`${local.title} knows no keys`);
  return local.keyed(pairs, WAITERS, (worker) =>
    which === 'keys1024' ? manyKeys(worker) : keysFor(which, worker, WAITERS),
  );
}

function manyKeys(worker: number): () => Key {
  const keys = Array.from({ length: KEYS }, (_, index): Key => ['tenant', `resource-${index}`]);
  // a step without a common divisor visits every key, each worker from its own start
  let turn = worker * 16;
  return () => keys[(turn += 7) % KEYS] as Key;
}

/** Nanoseconds for a pair, over about `ms` milliseconds. */
async function measure(which: LocalCase, ms: number): Promise<number> {
  if (lock === undefined) throw new Error('nothing was opened');
  let pairs = WAITERS * 10;
  // growing runs warm up and tell how many pairs fill the time
  for (let tookMs = 0; tookMs < ms;) {
    tookMs = await timed(lock, which, pairs);
    pairs = roundUp(pairs * Math.min(10, Math.max(1, ms / tookMs)));
  }
  return ((await timed(lock, which, pairs)) * 1_000_000) / pairs;
}

async function timed(local: LocalLock, which: LocalCase, pairs: number): Promise<number> {
  const startedMs = performance.now();
  await run(local, which, pairs);
  return performance.now() - startedMs;
}

const roundUp = (pairs: number): number => Math.ceil(pairs / WAITERS) * WAITERS;

serve({
  open: async (name: LocalLockName) => {
    lock = await openLocalLock(name);
    return lock.title;
  },
  measure,
});
