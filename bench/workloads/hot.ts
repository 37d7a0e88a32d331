import type { Bench } from '../bench.js';
import type { ContenderName } from '../contenders/index.js';
import { measureSteady } from './measure-steady.js';
import type { Workload } from './workload.js';

export const hot: Workload = {
  name: 'hot',
  title: 'one key, every worker asks again at once: one process',
  ratios: [],
  run: async (bench) => {
    for (const inFlight of bench.pick([64], [16, 64, 256])) {
      await bench.interleaved({
        workload: 'hot',
        at: `${inFlight} in flight`,
        contenders: contenders(bench),
        measure: (name) => measureSteady(bench, name, { keys: 'hot', inFlight }),
      });
    }
  },
};

function contenders(bench: Bench): ContenderName[] {
  const ours: ContenderName[] = ['klock', 'klock-each-asks', 'klock-six-rpc', 'klock-redis'];
  return bench.quick ? ours : [...ours, 'klock-etcd', 'redlock-best', 'redis-semaphore-best', 'murlock-best'];
}
