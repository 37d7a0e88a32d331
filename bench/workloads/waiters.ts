import type { Bench } from '../bench.js';
import { loadContender, type ContenderName } from '../contenders/index.js';
import type { Series } from '../loads/starting-line.js';
import { measureBurst } from './measure-burst.js';
import type { Workload } from './workload.js';

const ON_THE_CHANNEL: readonly ContenderName[] = ['klock', 'klock-each-asks'];
/** A call for each waiter: with 10,000 of them a burst would outlast every bound of a wait. */
const FEW: readonly ContenderName[] = [...ON_THE_CHANNEL, 'klock-six-rpc'];

const ONCE: Series = { restMs: 20, forMs: 0, atMost: 1 };

export const waiters: Workload = {
  name: 'waiters',
  title:
    'many waiters of one process on one key: until each had it once, and until all have given up at once',
  ratios: [],
  run: async (bench) => {
    const few = bench.pick(500, 1_000);
    await eachOnce(bench, few, FEW);
    if (!bench.quick) await eachOnce(bench, few * 10, ON_THE_CHANNEL);
    await giveUp(bench, few, FEW);
    await giveUp(bench, few * 10, ON_THE_CHANNEL);
  },
};

async function eachOnce(bench: Bench, count: number, contenders: readonly ContenderName[]): Promise<void> {
  await bench.interleaved({
    workload: 'waiters',
    at: `${count.toLocaleString('en')} waiters, each once`,
    contenders,
    measure: (name) => measureBurst(bench, name, { processes: 1, waitersEach: count, series: ONCE }),
  });
}

async function giveUp(bench: Bench, count: number, contenders: readonly ContenderName[]): Promise<void> {
  for (const contender of contenders) {
    const { title } = await loadContender(contender);
    const at = `${count.toLocaleString('en')} waiters give up`;
    await bench.single({ workload: 'waiters', at, contender, title }, async () => {
      const child = await bench.stage.client(contender);
      return { ms: await child.call<number>('cancelAll', 'given-up', count) };
    });
  }
}
