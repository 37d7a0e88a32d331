// A client in a process of its own that takes and gives back locks without end, and tells what it believed and when.
// All processes of one machine read one monotonic clock here: what each of them says can be put in one history.
import { createKlock, systemClock } from 'klock/core';
import { emit, serve } from '../support/child-side.mjs';

const { driver, ttlMs, name } = JSON.parse(process.env.KLOCK_TEST_HISTORY);
/** Enough trees that a client which is stopped with a lock in its hands stops one of them, not the run. */
const TREES = [...'abcdefghijkl'];
const LOOK_MS = 5;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const chance = (probability) => Math.random() < probability;
const pick = (list) => list[Math.floor(Math.random() * list.length)];

for (const kind of ['uncaughtException', 'unhandledRejection']) {
  process.on(kind, (error) => emit('uncaught', String(error?.stack ?? error)));
}

/** This process's wall clock, which somebody sets; the monotonic one is left alone. */
let setByMs = 0;
const wallMs = () => systemClock.wallMs() + setByMs;
const clock = {
  monoMs: () => systemClock.monoMs(),
  wallMs,
  now: () => ({ monoMs: systemClock.monoMs(), wallMs: wallMs() }),
  after: (delayMs, run, options) => systemClock.after(delayMs, run, options),
};

const makeDriver = {
  klock: async ({ url }) => (await import('klock/client')).klockDriver({ url, connectTimeoutMs: 500 }),
  redis: async ({ port }) => {
    const [{ Redis }, { redisDriver }] = await Promise.all([import('ioredis'), import('klock/redis')]);
    const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 50 });
    client.on('error', () => undefined);
    return redisDriver(client);
  },
  etcd: async ({ hosts }) => (await import('klock/etcd')).etcdDriver({ hosts }),
};

let grants = [];
let going = true;
const tell = () => {
  if (grants.length > 0) emit('grants', grants);
  grants = [];
};
setInterval(tell, 100);

const keyOf = () => {
  const tree = pick(TREES);
  return chance(0.25) ? [tree] : [tree, pick(['a', 'b'])];
};

/** Waits, asks once, or gives up in the middle of a wait. */
async function take(klock) {
  if (chance(0.15)) return klock.tryAcquire(keyOf());
  const signal = chance(0.1) ? AbortSignal.timeout(Math.ceil(Math.random() * 0.3 * ttlMs)) : undefined;
  return klock.acquire(keyOf(), { waitMs: 2 * ttlMs, ...(signal && { signal }) });
}

/**
 * Holds once. What counts as held ends with the release, the notice of its loss, or what the lock itself promised when it was
 * last looked at, whichever comes first: what is lost may be somebody else's before this flow wakes up.
 */
async function once(klock) {
  const calledAtMs = nowMs();
  const lock = await take(klock);
  if (lock === undefined) return sleep(LOOK_MS);
  const grantedAtMs = nowMs();
  const untilMs = grantedAtMs + (chance(5 / ttlMs) ? Math.random() * 1.5 * ttlMs : Math.random() * 4);
  let promisedMs = grantedAtMs;
  let lostAtMs = Infinity;
  lock.signal.addEventListener('abort', () => (lostAtMs = nowMs()));
  const look = () => (promisedMs = Math.max(promisedMs, nowMs() + lock.remainingMs));
  look();
  if (chance(0.05)) lock.extend().catch(() => undefined);
  while (lock.held && nowMs() < untilMs) {
    look();
    await sleep(LOOK_MS);
  }
  // The clock first: the process may be stopped between these two.
  const lookedAtMs = nowMs();
  const endedAtMs = lock.held ? lookedAtMs : Math.min(lookedAtMs, lostAtMs, promisedMs);
  const released = lock.release();
  grants.push({ key: lock.key, client: name, fence: lock.fence, calledAtMs, grantedAtMs, endedAtMs });
  await released;
}

async function work(klock) {
  while (going) {
    try {
      await once(klock);
    } catch (error) {
      if (error?.code === undefined) emit('uncaught', String(error?.stack ?? error));
      await sleep(20);
    }
  }
}

serve({
  work: async (flows) => {
    const made = await makeDriver[driver.name](driver);
    const klock = createKlock({ ttlMs, clientName: name, clock, driver: made });
    for (let flow = 0; flow < flows; flow++) void work(klock);
  },
  block: (ms) => {
    const end = nowMs() + ms;
    while (nowMs() < end);
  },
  setWall: (byMs) => void (setByMs += byMs),
  stop: () => {
    going = false;
    tell();
  },
});
