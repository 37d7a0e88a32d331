import { setTimeout as sleep } from 'node:timers/promises';
import type { LockClient } from '../contenders/contender.js';

/** How long it took to take back waits that stood in one queue, all at once. Milliseconds. */
export async function cancelAll(client: LockClient, key: string, waiters: number): Promise<number> {
  const giveUp = new AbortController();
  let ms = 0;
  await client.section([key], async () => {
    const waits = Array.from({ length: waiters }, () =>
      client.section([key], () => undefined, giveUp.signal).catch(() => undefined),
    );
    // until all stand in the store's queue
    await sleep(200 + waiters / 4);
    const startedMs = performance.now();
    giveUp.abort();
    await Promise.all(waits);
    ms = performance.now() - startedMs;
  });
  return ms;
}
