import { REDIS_LIBRARIES, type ContenderName } from '../contenders/index.js';
import { measureBurst, type BurstPlan } from './measure-burst.js';
import type { Workload } from './workload.js';

export const burst: Workload = {
  name: 'burst',
  title: 'one key, 64 waiters at once, each holds nothing and gives back',
  ratios: ['P5', 'P6', 'P9'],
  run: async (bench, wanted) => {
    // pauses that suit one caller take seconds for 64, and the decorators add nothing to what they rest on
    const libraries = bench.pick(['redlock-best', 'redis-semaphore-best'] satisfies ContenderName[], [
      ...REDIS_LIBRARIES,
    ]);
    const contenders: ContenderName[] = [
      ...(wanted('P5', 'P6') ? (['klock', 'klock-each-asks', 'klock-six-rpc'] as const) : []),
      ...(wanted('P9') ? (['klock-redis'] as const) : []),
      ...libraries,
    ];
    for (const processes of [1, 2]) {
      const plan: BurstPlan = { processes, waitersEach: 64 / processes, budgetMs: bench.pick(250, 1_500) };
      await bench.interleaved({
        workload: 'burst',
        at: `${processes} × ${plan.waitersEach} waiters`,
        contenders,
        measure: (name) => measureBurst(bench, name, plan),
      });
    }
  },
};
