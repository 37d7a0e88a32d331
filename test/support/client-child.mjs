// A client in a process of its own, for test/support/client-process.ts.
import { createKlock } from 'klock/core';
import { emit, serve } from './child-side.mjs';

for (const kind of ['uncaughtException', 'unhandledRejection']) {
  process.on(kind, (error) => emit('uncaught', String(error?.stack ?? error)));
}

const { url, driver, instance } = JSON.parse(process.env.KLOCK_TEST_CLIENT);
const klock = createKlock({ ...instance, driver: await openDriver() });
const locks = new Map();

klock.on('lock.lost', ({ key, reason, code, fence }) => emit('lost', { key, reason, code, fence }));
if (process.env.KLOCK_TEST_THROWING_LISTENER === '1') {
  klock.on('lock.lost', () => {
    throw new Error('a listener that throws');
  });
}

async function openDriver() {
  if (!url.startsWith('redis:')) return (await import('klock/client')).klockDriver({ url, ...driver });
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, { retryStrategy: () => 50 });
  redis.on('error', () => undefined);
  return (await import('klock/redis')).redisDriver(redis, driver);
}

const view = (lock) => ({
  held: lock.held,
  remainingMs: lock.remainingMs,
  aborted: lock.signal.aborted,
  reason: lock.signal.reason?.code,
});

// Tells in its first turn after a pause of the whole process what it believes then.
let ticked = performance.now();
setInterval(() => {
  const now = performance.now();
  if (now - ticked > 250) emit('woke', Object.fromEntries([...locks].map(([id, lock]) => [id, view(lock)])));
  ticked = now;
}, 10);

serve({
  acquire: async (id, key, options) => {
    const lock = await klock.acquire(key, options);
    locks.set(id, lock);
    return { fence: lock.fence, token: lock.token };
  },
  view: (id) => view(locks.get(id)),
  release: (id) => locks.get(id).release(),
  block: (id, ms) => {
    const lock = locks.get(id);
    const end = performance.now() + ms;
    while (performance.now() < end);
    ticked = performance.now();
    let thrown;
    try {
      lock.assertHeld();
    } catch (error) {
      thrown = { code: error.code, reason: error.reason };
    }
    return { ...view(lock), thrown };
  },
  section: async (key, options, ms) => {
    try {
      return {
        result: await klock.withLock(key, options, () => {
          const end = performance.now() + ms;
          while (performance.now() < end);
          return 'done';
        }),
      };
    } catch (error) {
      return { code: error.code, reason: error.reason, attached: error.result };
    }
  },
  close: () => klock.close({ graceMs: 1 }),
  exit: () => void setTimeout(() => process.exit(0), 10),
});
