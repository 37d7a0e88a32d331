import { REDIS_LIBRARIES, type ContenderName } from '../contenders/index.js';
import type { Bench } from '../bench.js';
import type { Series } from '../loads/starting-line.js';
import { measureBurst, type BurstPlan } from './measure-burst.js';
import type { Workload } from './workload.js';

/** How long nobody does anything before a burst that finds everything asleep. */
const SILENCE_MS = 20;
const AFTER_SILENCE: readonly ContenderName[] = ['klock', 'klock-redis', 'redlock-best', 'nest-redlock-best'];

export const burst: Workload = {
  name: 'burst',
  title: 'one key, 64 waiters at once, each holds nothing and gives back',
  ratios: ['P5', 'P6', 'P9'],
  run: async (bench, wanted) => {
    // pauses that suit one caller take seconds for 64, and the decorators add nothing to what they rest on
    const libraries = bench.pick(['redlock-best', 'redis-semaphore-best'] satisfies ContenderName[], [
      ...REDIS_LIBRARIES,
    ]);
    const own = bench.pick<ContenderName[]>(['klock'], ['klock', 'klock-each-asks', 'klock-six-rpc']);
    const contenders: ContenderName[] = [
      ...(wanted('P5', 'P6') ? own : []),
      ...(wanted('P9') ? (['klock-redis'] as const) : []),
      ...libraries,
    ];
    const series: Series = { restMs: 0, forMs: bench.pick(250, 1_500), atMost: 500 };
    for (const processes of [1, 2]) {
      const waitersEach = 64 / processes;
      await measureAll(bench, contenders, `${processes} × ${waitersEach} waiters`, {
        processes,
        waitersEach,
        series,
      });
    }
    if (bench.quick) return;
    const rested = contenders.filter((name) => AFTER_SILENCE.includes(name));
    await measureAll(bench, rested, `1 × 64 waiters, ${SILENCE_MS} ms after anything else`, {
      processes: 1,
      waitersEach: 64,
      series: { ...series, restMs: SILENCE_MS },
    });
  },
};

async function measureAll(
  bench: Bench,
  contenders: readonly ContenderName[],
  at: string,
  plan: BurstPlan,
): Promise<void> {
  await bench.interleaved({
    workload: 'burst',
    at,
    contenders,
    measure: (name) => measureBurst(bench, name, plan),
  });
}
