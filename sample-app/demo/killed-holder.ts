import type { Stage } from './stage.js';
import { counted, type Statements } from './statements.js';

/** For the work and the way there and back, on a busy machine. */
const ALLOWANCE_MS = 1_000;
const ENDLESS_MS = 60_000;

/** A replica dies between its read and its write, while it holds the lock. */
export async function killedHolder(stage: Stage, say: Statements): Promise<void> {
  say.chapter('3. A replica is killed (SIGKILL) in the middle of a booking, while it holds the lock');
  await stage.a.shop.setStock('lamp', 10);
  const doomed = stage.b.shop.book({ item: 'lamp', workMs: ENDLESS_MS }).catch(() => undefined);
  const deadFence = await stage.b.shop.fenceInSection('lamp');
  await stage.b.child.kill();
  const since = performance.now();
  const answer = await stage.a.shop.book({ item: 'lamp' });
  const waitedMs = performance.now() - since;
  await doomed;
  const { booked } = await stage.a.shop.stock('lamp');
  say.note(`replica B held the lock with fence ${deadFence} and could release nothing`);
  say.check(
    `the next booking waited ${counted(waitedMs)} ms: at most the lease of ${counted(stage.ttlMs)} ms and ${counted(ALLOWANCE_MS)} ms for the work`,
    answer.outcome === 'booked' && waitedMs <= stage.ttlMs + ALLOWANCE_MS,
  );
  const fence = answer.outcome === 'booked' ? BigInt(answer.booking.fence ?? 0) : 0n;
  say.check(`its fence is larger: ${fence} > ${deadFence}`, fence > deadFence);
  say.check(`the killed booking left nothing behind: ${booked} booked`, booked === 1);
  await stage.startReplica('B');
  say.note(`replica B was started again (process ${stage.b.child.pid})`);
}
