import { isLockError } from '../../lib/core/index.js';
import { RedisBed, pause } from '../support/redis-bed.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const TTL_MS = 400;
/** A waiter counts as alive for 3 s after it asked; the rest is room for a busy machine. */
const WITHIN_MS = 8_000;
let bed: RedisBed;
let proxy: TcpProxy;

beforeAll(async () => {
  bed = await RedisBed.start();
  proxy = await TcpProxy.start({ target: { port: bed.server.port } });
}, 30_000);
afterAll(async () => {
  await bed.stop();
  await proxy.stop();
}, 30_000);

it('[I7] a waiter that fell silent as first in line blocks nobody, however often the lock is offered to it', async () => {
  const [dead, holder, others] = [
    await bed.open({ ttlMs: TTL_MS, port: proxy.port }),
    await bed.open({ ttlMs: TTL_MS }),
    await bed.open({ ttlMs: TTL_MS, handover: false }),
  ];
  const key = bed.key();
  const held = await holder.acquire(key);
  const silent = dead.acquire(key, { waitMs: 60_000 }).catch(() => undefined);
  while ((await bed.admin.zcard(`lock:{${key}}:line`)) === 0) await pause(10);
  proxy.silence('both', { lost: true });
  await held.release();
  // Each that gives up frees its place, and by that the lock is offered to the first in line again.
  let next: unknown;
  const endMs = performance.now() + WITHIN_MS;
  while (next === undefined && performance.now() < endMs) {
    next = await others.acquire(key, { waitMs: 150 }).catch((error: unknown) => {
      if (!isLockError(error, 'LOCK_TIMEOUT')) throw error;
      return undefined;
    });
  }
  expect(next).toBeDefined();
  await dead.close({ graceMs: 1 });
  await silent;
}, 30_000);
