import type { Bench, Measured } from '../bench.js';
import type { ContenderName } from '../contenders/index.js';
import type { Sample } from '../loads/sample.js';
import type { SteadyLoad } from '../loads/steady.js';
import { spread } from '../numbers.js';
import type { Workload } from './workload.js';

const PROCESSES = 2;
const WORKERS_EACH = 32;

export const sustained: Workload = {
  name: 'sustained',
  title: 'one key, each waiter asks again at once: who gets how much',
  ratios: ['P6b', 'P9'],
  run: async (bench, wanted) => {
    const contenders: ContenderName[] = [
      ...(wanted('P6b') ? (['klock', 'klock-each-asks'] as const) : []),
      ...(wanted('P9') ? (['klock-redis'] as const) : []),
      ...(bench.quick ? [] : (['redlock-best', 'redis-semaphore-best'] as const)),
    ];
    await bench.interleaved({
      workload: 'sustained',
      at: `${PROCESSES} × ${WORKERS_EACH} waiters`,
      contenders,
      measure: (name) => measure(bench, name),
    });
  },
};

async function measure(bench: Bench, name: ContenderName): Promise<Measured> {
  const load: SteadyLoad = {
    keys: 'hot',
    inFlight: WORKERS_EACH,
    warmMs: bench.pick(80, 500),
    ms: bench.pick(500, 5_000),
  };
  const processes = await Promise.all(
    Array.from({ length: PROCESSES }, (_, index) => bench.stage.client(name, index)),
  );
  const samples = await Promise.all(processes.map((child) => child.call<Sample>('steady', load)));
  bench.check(name, samples);
  const firstError = samples.find((sample) => sample.firstError !== undefined)?.firstError;
  const pairs = samples.reduce((sum, sample) => sum + sample.pairs, 0);
  if (pairs === 0) throw new Error(firstError ?? 'nobody was granted the key');
  return {
    figures: {
      pairsPerSecond: samples.reduce((sum, sample) => sum + (sample.pairs / sample.elapsedMs) * 1_000, 0),
      p99Ms: Math.max(...samples.map((sample) => sample.p99Ms)),
      processSpread: spread(samples.map((sample) => sample.pairs)),
      workerSpread: spread(samples.flatMap((sample) => sample.perWorker)),
    },
    errors: samples.reduce((sum, sample) => sum + sample.errors, 0),
    ...(firstError !== undefined && { firstError }),
  };
}
