import type { Bench, Measured } from '../bench.js';
import { loadContender, type ContenderName } from '../contenders/index.js';
import type { KeyPlan } from '../loads/keys.js';
import type { Sample } from '../loads/sample.js';
import type { SteadyLoad } from '../loads/steady.js';

const PER = 10_000;

/** Until then Node runs most of a contender's code without having compiled it: at 1 in flight a second is not enough. */
const WARM_PAIRS = 8_000;
/** A contender that cannot do it in this time is slow for other reasons than code that is still cold. */
const MAX_WARM_MS = 5_000;
/** In a quick run, whose minute has no room for more. */
const QUICK_WARM_MS = 400;
/** Before each measurement: a process that stood idle while others were measured takes most of a second to be as fast again. */
const WARM_MS = 1_000;

/** Loads one process of a contender for a moment. */
export async function measureSteady(
  bench: Bench,
  name: ContenderName,
  load: { readonly keys: KeyPlan; readonly inFlight: number },
): Promise<Measured> {
  const { needs } = await loadContender(name);
  const child = await bench.stage.client(name);
  const before = await bench.stage.serverCpuMs(needs);
  const timed: SteadyLoad = {
    ...load,
    warmMs: bench.pick(50, WARM_MS),
    warmPairs: WARM_PAIRS,
    maxWarmMs: bench.pick(QUICK_WARM_MS, MAX_WARM_MS),
    ms: bench.pick(150, 1_000),
  };
  const sample = await child.call<Sample>('steady', timed);
  const after = await bench.stage.serverCpuMs(needs);
  bench.check(name, [sample]);
  return measured(sample, before === undefined || after === undefined ? undefined : after - before);
}

function measured(sample: Sample, serverMs: number | undefined): Measured {
  if (sample.pairs === 0) throw new Error(sample.firstError ?? 'not one pair in the time given');
  return {
    figures: {
      pairsPerSecond: (sample.pairs / sample.elapsedMs) * 1_000,
      p50Ms: sample.p50Ms,
      p99Ms: sample.p99Ms,
      clientCpuMs: (sample.cpuMs / sample.pairs) * PER,
      ...(serverMs !== undefined && { serverCpuMs: (serverMs / sample.pairsInAll) * PER }),
    },
    errors: sample.errors,
    ...(sample.firstError !== undefined && { firstError: sample.firstError }),
  };
}
