import type { Stage } from './stage.js';
import { counted, type Statements } from './statements.js';

/**
 * A holder that sleeps past its lease and then writes. A check before the write would only make the gap smaller, since
 * a process can be stopped behind any check; the database closes it, by the fence.
 */
export async function staleWrite(stage: Stage, say: Statements): Promise<void> {
  say.chapter(
    '4. A replica is stopped (SIGSTOP) in the middle of a booking, loses its lock asleep, wakes up and writes',
  );
  await stage.a.shop.setStock('desk', 10);
  const sleeper = stage.b.shop.book({ item: 'desk', workMs: stage.ttlMs });
  const oldFence = await stage.b.shop.fenceInSection('desk');
  stage.b.child.pause();
  const since = performance.now();
  const next = await stage.a.shop.book({ item: 'desk' });
  const waitedMs = performance.now() - since;
  stage.b.child.resume();
  const late = await sleeper;
  const { booked, left, fence } = await stage.a.shop.stock('desk');
  const newFence = next.outcome === 'booked' ? BigInt(next.booking.fence ?? 0) : 0n;
  say.note(
    `replica B slept with fence ${oldFence}; after ${counted(waitedMs)} ms replica A booked with fence ${newFence}`,
  );
  say.check(
    `the late write with fence ${oldFence} was refused by the database: ${outcomeOf(late)}`,
    late.outcome === 'refused' && late.status === 409 && late.code === 'STALE_FENCE' && newFence > oldFence,
  );
  say.check(
    `only the booking of replica A counts: ${booked} booked, ${left} left, written with fence ${fence}`,
    booked === 1 && left === 9 && BigInt(fence) === newFence,
  );
}

function outcomeOf(answer: Awaited<ReturnType<Stage['a']['shop']['book']>>): string {
  return answer.outcome === 'refused' ? `HTTP ${answer.status}, ${answer.code}` : answer.outcome;
}
