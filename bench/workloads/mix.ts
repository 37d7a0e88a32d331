import { measureSteady } from './measure-steady.js';
import type { Workload } from './workload.js';

export const mix: Workload = {
  name: 'mix',
  title: '16 tenants of 64 resources; some ask for a whole tenant, the others for a resource: one process',
  ratios: [],
  run: async (bench) => {
    for (const [keys, share] of [
      ['mix5', '5 %'],
      ['mix20', '20 %'],
    ] as const) {
      if (bench.quick && keys === 'mix5') continue;
      await bench.interleaved({
        workload: 'mix',
        at: `${share} whole tenants, 64 in flight`,
        contenders: ['klock', 'klock-six-rpc', 'klock-redis'],
        measure: (name) => measureSteady(bench, name, { keys, inFlight: 64 }),
      });
    }
  },
};
