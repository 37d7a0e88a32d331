import type { Bench } from '../bench.js';
import type { ContenderName } from '../contenders/index.js';
import { loadContender } from '../contenders/index.js';
import { measureBurst } from './measure-burst.js';
import type { Workload } from './workload.js';

const CONTENDERS: readonly ContenderName[] = ['klock', 'klock-each-asks', 'klock-six-rpc'];

export const waiters: Workload = {
  name: 'waiters',
  title:
    'many waiters of one process on one key: until each had it once, and until all have given up at once',
  ratios: [],
  run: async (bench) => {
    const many = bench.pick(500, 10_000);
    await bench.interleaved({
      workload: 'waiters',
      at: `${many.toLocaleString('en')} waiters, each once`,
      contenders: CONTENDERS,
      measure: (name) => measureBurst(bench, name, { processes: 1, waitersEach: many, budgetMs: 0 }),
    });
    for (const count of [many / 10, many]) await giveUp(bench, count);
  },
};

async function giveUp(bench: Bench, count: number): Promise<void> {
  for (const contender of CONTENDERS) {
    const { title } = await loadContender(contender);
    const at = `${count.toLocaleString('en')} waiters give up`;
    await bench.single({ workload: 'waiters', at, contender, title }, async () => {
      const child = await bench.stage.client(contender);
      return { ms: await child.call<number>('cancelAll', 'given-up', count) };
    });
  }
}
