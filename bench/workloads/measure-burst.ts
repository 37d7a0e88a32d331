import type { Bench, Measured } from '../bench.js';
import type { Child } from '../children/child.js';
import { loadContender, type ContenderName } from '../contenders/index.js';
import type { BurstLoad, BurstSample, BurstSamples } from '../loads/burst.js';
import type { Series } from '../loads/starting-line.js';
import { median, percentile } from '../numbers.js';
import { commandsOf } from '../servers/stores.js';

export interface BurstPlan {
  readonly processes: number;
  readonly waitersEach: number;
  /** The first burst is not counted unless it is the only one. */
  readonly series: Series;
}

/** In each process, before its first burst is measured, if it can do them in time: bursts are short, and Node compiles what runs often. */
const WARM_PAIRS = 64_000;
const PER = 10_000;

interface Burst {
  readonly pairs: number;
  readonly elapsedMs: number;
  readonly waitsMs: readonly number[];
  readonly cpuMs: number;
  readonly errors: number;
  readonly firstError: string | undefined;
}

/** Lets processes of a contender ask for one key together, again and again. */
export async function measureBurst(bench: Bench, name: ContenderName, plan: BurstPlan): Promise<Measured> {
  const { needs } = await loadContender(name);
  const processes = await Promise.all(
    Array.from({ length: plan.processes }, (_, index) => bench.stage.client(name, index)),
  );
  const warmPairs = bench.pick(0, WARM_PAIRS);
  await Promise.all(processes.map((child) => child.call('warmUpForBursts', plan.waitersEach, warmPairs)));
  const redis = needs === 'redis' ? (await bench.stage.server('redis')).address : undefined;
  const commandsBefore = redis === undefined ? 0 : await commandsOf(redis);
  const samples = await together(processes, plan);
  const commands = redis === undefined ? undefined : (await commandsOf(redis)) - commandsBefore - 1;
  bench.check(name, samples);
  return measured(burstsOf(samples), commands);
}

/** The first process says when each burst begins. */
async function together(processes: readonly Child[], plan: BurstPlan): Promise<BurstSamples[]> {
  const [host, ...guests] = processes;
  const port = await host?.call('hostBursts', guests.length, plan.series);
  await Promise.all(guests.map((guest) => guest.call('joinBursts', port)));
  const load: BurstLoad = { key: 'burst', waiters: plan.waitersEach };
  return await Promise.all(processes.map((child) => child.call<BurstSamples>('bursts', load)));
}

/** What the processes did at the same time is one burst. */
function burstsOf(samples: readonly BurstSamples[]): Burst[] {
  return (samples[0]?.bursts ?? []).map((_, at) =>
    burstOf(samples.map(({ bursts }) => bursts[at]).filter((burst) => burst !== undefined)),
  );
}

function burstOf(samples: readonly BurstSample[]): Burst {
  const startedMs = Math.min(...samples.map((sample) => sample.startedMs));
  const endedMs = Math.max(...samples.map((sample) => sample.endedMs));
  return {
    pairs: samples.reduce((sum, sample) => sum + sample.waitsMs.length, 0),
    elapsedMs: endedMs - startedMs,
    waitsMs: samples.flatMap((sample) => [...sample.waitsMs]),
    cpuMs: samples.reduce((sum, sample) => sum + sample.cpuMs, 0),
    errors: samples.reduce((sum, sample) => sum + sample.errors, 0),
    firstError: samples.find((sample) => sample.firstError !== undefined)?.firstError,
  };
}

function measured(all: readonly Burst[], commands: number | undefined): Measured {
  const firstError = all.find((burst) => burst.firstError !== undefined)?.firstError;
  const errors = all.reduce((sum, burst) => sum + burst.errors, 0);
  const pairsInAll = all.reduce((sum, burst) => sum + burst.pairs, 0);
  if (pairsInAll === 0) throw new Error(firstError ?? 'nobody was granted the key');
  const counted = all.length > 1 ? all.slice(1) : all;
  const waits = Float64Array.from(counted.flatMap((burst) => burst.waitsMs)).sort();
  return {
    figures: {
      pairsPerSecond: median(counted.map((burst) => (burst.pairs / burst.elapsedMs) * 1_000)),
      p50Ms: percentile(waits, 0.5),
      p99Ms: percentile(waits, 0.99),
      clientCpuMs: (all.reduce((sum, burst) => sum + burst.cpuMs, 0) / pairsInAll) * PER,
      ...(commands !== undefined && { commandsPerPair: commands / pairsInAll }),
    },
    errors,
    ...(firstError !== undefined && { firstError }),
  };
}
