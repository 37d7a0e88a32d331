import { setTimeout as sleep } from 'node:timers/promises';
import type { LockClient } from '../contenders/contender.js';

/** How long it took to take back waits that stood in one queue, all at once. Milliseconds. */
export async function cancelAll(client: LockClient, key: string, waiters: number): Promise<number> {
  const lock = await client.take?.([key]);
  if (lock === undefined) throw new Error('this contender only runs sections');
  const giveUp = new AbortController();
  const waits = Array.from({ length: waiters }, () =>
    client.section([key], () => undefined, giveUp.signal).catch(() => undefined),
  );
  // until all stand in the store's queue
  await sleep(200 + waiters / 4);
  const startedMs = performance.now();
  giveUp.abort();
  await Promise.all(waits);
  const ms = performance.now() - startedMs;
  await lock.release();
  return ms;
}
