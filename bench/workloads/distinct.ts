import { REDIS_LIBRARIES, type ContenderName } from '../contenders/index.js';
import { measureSteady } from './measure-steady.js';
import type { Wanted, Workload } from './workload.js';

type Names = readonly ContenderName[];

/** Settings for waiting make no difference where nobody waits: once for each library will do in a quick run. */
const PLAIN_LIBRARIES: Names = ['redlock', 'redis-semaphore'];
const LIBRARIES: Names = [...PLAIN_LIBRARIES, 'murlock', 'nest-redlock'];

/** The busiest first: one caller alone would not get anything warm in so short a time. */
const QUICK_CASES = [256, 64, 1];

export const distinct: Workload = {
  name: 'distinct',
  title: '2,048 keys, nobody waits: one process',
  ratios: ['P1', 'P2', 'P3', 'P4', 'P7', 'P8', 'P10'],
  run: async (bench, wanted) => {
    for (const inFlight of bench.pick(QUICK_CASES, [1, 16, 64, 256])) {
      const contenders = bench.quick ? quickContenders(inFlight, wanted) : allContenders(wanted);
      await bench.stage.open(contenders);
      await bench.interleaved({
        workload: 'distinct',
        at: `${inFlight} in flight`,
        contenders,
        measure: (name) => measureSteady(bench, name, { keys: 'distinct', inFlight }),
      });
    }
  },
};

function allContenders(wanted: Wanted): ContenderName[] {
  return chosen([
    [['klock', 'klock-six-rpc', 'echo-unary', 'echo-stream'], wanted('P1', 'P2', 'P3', 'P4')],
    [['klock-locked'], wanted('P7')],
    [['klock-redis'], wanted('P8')],
    [REDIS_LIBRARIES, wanted('P3', 'P4', 'P7', 'P8')],
    [['klock-etcd', 'etcd-transactions', 'etcd3-lock'], wanted('P10')],
  ]);
}

/** What the ratios of this many in flight compare, and no more. */
function quickContenders(inFlight: number, wanted: Wanted): ContenderName[] {
  const only = (...cases: number[]): boolean => cases.includes(inFlight);
  return chosen([
    [['klock', 'echo-stream'], wanted('P1', 'P2', 'P3', 'P4')],
    [['echo-unary'], only(64) && wanted('P1')],
    [['klock-locked'], only(64) && wanted('P7')],
    [['klock-redis'], only(64, 256) && wanted('P8')],
    [only(64) ? LIBRARIES : PLAIN_LIBRARIES, wanted('P3', 'P4', 'P7', 'P8')],
    [['klock-etcd', 'etcd-transactions', 'etcd3-lock'], only(64) && wanted('P10')],
  ]);
}

function chosen(groups: readonly (readonly [Names, boolean])[]): ContenderName[] {
  return groups.flatMap(([names, asked]) => (asked ? [...names] : []));
}
