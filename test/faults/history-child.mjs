// A client in a process of its own that takes and gives back locks without end, and tells what it believed and when.
// All processes of one machine read one monotonic clock here: what each of them says can be put in one history.
import { createKlock } from 'klock/core';
import { klockDriver } from 'klock/client';
import { emit, serve } from '../support/child-side.mjs';

const { url, ttlMs, name } = JSON.parse(process.env.KLOCK_TEST_HISTORY);
const KEYS = [['t'], ['t', 'a'], ['t', 'b'], ['u'], ['u', 'a']];
const LOOK_MS = 5;

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const pick = (list) => list[Math.floor(Math.random() * list.length)];

for (const kind of ['uncaughtException', 'unhandledRejection']) {
  process.on(kind, (error) => emit('uncaught', String(error?.stack ?? error)));
}

let grants = [];
let going = true;
const tell = () => {
  if (grants.length > 0) emit('grants', grants);
  grants = [];
};
setInterval(tell, 100);

/** Holds once. What counts as held is what the lock itself promised when it was last looked at, never more. */
async function once(klock) {
  const calledAtMs = nowMs();
  const lock = await klock.acquire(pick(KEYS), { waitMs: 2 * ttlMs });
  const grantedAtMs = nowMs();
  const untilMs = grantedAtMs + (Math.random() < 0.1 ? Math.random() * 1.5 * ttlMs : Math.random() * 4);
  let promisedMs = grantedAtMs;
  const look = () => (promisedMs = Math.max(promisedMs, nowMs() + lock.remainingMs));
  look();
  while (lock.held && nowMs() < untilMs) {
    look();
    await sleep(LOOK_MS);
  }
  const endedAtMs = lock.held ? nowMs() : Math.min(nowMs(), promisedMs);
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
  work: (flows) => {
    const klock = createKlock({
      ttlMs,
      clientName: name,
      driver: klockDriver({ url, connectTimeoutMs: 500 }),
    });
    for (let flow = 0; flow < flows; flow++) void work(klock);
  },
  block: (ms) => {
    const end = nowMs() + ms;
    while (nowMs() < end);
  },
  stop: () => {
    going = false;
    tell();
  },
});
