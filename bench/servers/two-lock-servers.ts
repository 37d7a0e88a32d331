import { createKlock, memoryDriver } from 'klock/core';
import { LockServer } from 'klock/server';
import { cpuMs, serve } from '../children/serve.js';

const options = { address: '127.0.0.1:0', rateLimit: false, firstStart: true, production: false } as const;
const empty = new LockServer(options);
const full = new LockServer(options);

async function hold(locks: number): Promise<void> {
  const klock = createKlock({ driver: memoryDriver({ store: full.openLocalStore() }), ttlMs: 50_000 });
  for (let index = 0; index < locks; index++) await klock.acquire(['held', `k${index}`]);
}

async function wait(waiters: number): Promise<void> {
  const klock = createKlock({ driver: memoryDriver({ store: full.openLocalStore() }), ttlMs: 50_000 });
  await klock.acquire('awaited');
  for (let index = 0; index < waiters; index++) {
    klock.acquire('awaited', { waitMs: Infinity }).catch(() => undefined);
  }
}

// Two servers in one process: an empty one and one that holds or makes wait, so that both are measured alike.
serve({
  start: async () => {
    await Promise.all([empty.start(), full.start()]);
    return { empty: empty.address, full: full.address };
  },
  hold,
  wait,
  cpu: cpuMs,
});
