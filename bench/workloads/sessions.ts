import type { Bench } from '../bench.js';
import { measureSteady } from './measure-steady.js';
import type { Workload } from './workload.js';

/** Sessions opened by one process: each has a connection of its own. */
const SESSIONS_PER_PROCESS = 2_500;

export const sessions: Workload = {
  name: 'sessions',
  title: 'distinct keys from one client while other sessions are open and idle',
  ratios: [],
  run: async (bench) => {
    for (const count of bench.pick([200], [1, 1_000, 10_000])) await measure(bench, count);
  },
};

async function measure(bench: Bench, count: number): Promise<void> {
  const at = `${count.toLocaleString('en')} sessions, 64 in flight`;
  const crowd = await openCrowd(bench, count - 1).catch((error: unknown) => error as Error);
  if (crowd instanceof Error) {
    const head = { workload: 'sessions', at, contender: 'klock', title: 'klock driver' };
    bench.results.add({ ...head, figures: {}, notMeasured: crowd.message });
    return;
  }
  await bench.interleaved({
    workload: 'sessions',
    at,
    contenders: ['klock'],
    measure: (name) => measureSteady(bench, name, { keys: 'distinct', inFlight: 64 }),
  });
  await crowd.close();
}

async function openCrowd(bench: Bench, count: number): Promise<{ close(): Promise<void> }> {
  bench.checkTime();
  const { address } = await bench.stage.server('klock');
  const sizes: number[] = [];
  for (let left = count; left > 0; left -= SESSIONS_PER_PROCESS) {
    sizes.push(Math.min(left, SESSIONS_PER_PROCESS));
  }
  const processes = sizes.map(() => bench.stage.newChild('load-child.js', ['crowd']));
  const close = async (): Promise<void> => void (await Promise.all(processes.map((child) => child.close())));
  try {
    for (const [index, child] of processes.entries()) {
      await child.call('open', 'klock-idle', { klock: address }, sizes[index]);
      await child.call('useEach');
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { close };
}
