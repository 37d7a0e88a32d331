import { createKlock, type InstanceOptions, type LockDriver } from 'klock/core';
import { LEASE_MS, WAIT_MS, type LockClient } from './contender.js';

/** klock over any driver, with the defaults of its users. */
export async function klockClient(
  driver: LockDriver,
  options: Partial<InstanceOptions> = {},
  close: () => unknown = () => undefined,
): Promise<LockClient> {
  const klock = createKlock({ driver, ttlMs: LEASE_MS, waitMs: WAIT_MS, ...options });
  await driver.ready(5_000);
  return {
    section: async (key, held, signal) => {
      const lock = await klock.acquire(key, signal === undefined ? undefined : { signal });
      held(lock.fence);
      return lock.release();
    },
    take: (key) => klock.acquire(key),
    close: async () => {
      await klock.close({ graceMs: 1 });
      await close();
    },
  };
}
