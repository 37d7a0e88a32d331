import type { ContenderName } from '../contenders/index.js';
import { measureSteady } from './measure-steady.js';
import type { Workload } from './workload.js';

const KLOCK = [
  'klock',
  'klock-six-rpc',
  'echo-unary',
  'echo-stream',
] as const satisfies readonly ContenderName[];
const DECORATORS = ['klock-locked'] as const satisfies readonly ContenderName[];
const REDIS = ['klock-redis'] as const satisfies readonly ContenderName[];
/** Settings for waiting make no difference where nobody waits: one of each library will do in a quick run. */
const LIBRARIES = ['redlock', 'redis-semaphore', 'murlock', 'nest-redlock'] as const;
const LIBRARIES_BEST = [
  'redlock-best',
  'redis-semaphore-best',
  'murlock-best',
  'nest-redlock-best',
] as const satisfies readonly ContenderName[];
const ETCD = ['klock-etcd', 'etcd-transactions', 'etcd3-lock'] as const satisfies readonly ContenderName[];

export const distinct: Workload = {
  name: 'distinct',
  title: '2,048 keys, nobody waits: one process',
  ratios: ['P1', 'P2', 'P3', 'P4', 'P7', 'P8', 'P10'],
  run: async (bench, wanted) => {
    const groups: readonly [ContenderName[], boolean][] = [
      [[...KLOCK], wanted('P1', 'P2', 'P3', 'P4')],
      [[...DECORATORS], wanted('P7')],
      [[...REDIS], wanted('P8')],
      [[...LIBRARIES, ...bench.pick([], LIBRARIES_BEST)], wanted('P3', 'P4', 'P7', 'P8')],
      [[...ETCD], wanted('P10')],
    ];
    const contenders = groups.flatMap(([names, asked]) => (asked ? names : []));
    for (const inFlight of bench.pick([1, 64, 256], [1, 16, 64, 256])) {
      await bench.interleaved({
        workload: 'distinct',
        at: `${inFlight} in flight`,
        contenders,
        measure: (name) => measureSteady(bench, name, { keys: 'distinct', inFlight }),
      });
    }
  },
};
