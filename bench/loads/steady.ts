import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMs } from '../children/serve.js';
import type { Key, LockClient } from '../contenders/contender.js';
import { percentile } from '../numbers.js';
import { HoldLog } from './hold-log.js';
import { keysFor, type KeyPlan } from './keys.js';
import { messageOf, type Sample } from './sample.js';

/** Workers that ask again as soon as they have given back, for a while. */
export interface SteadyLoad {
  readonly keys: KeyPlan;
  readonly inFlight: number;
  readonly warmMs: number;
  /** Warms up for as many pairs too. Default none. */
  readonly warmPairs?: number;
  /** But not longer than this, however many it has done. Default no bound. */
  readonly maxWarmMs?: number;
  readonly ms: number;
}

/** Enough for every measurement so far; later latencies of a longer one are left out. */
const MAX_LATENCIES = 2 ** 21;
const latencies = new Float64Array(MAX_LATENCIES);

/** How many times longer than asked a slow contender is measured. */
const MAX_STRETCH = 10;

/** A contender whose every call fails must not spin. */
const PAUSE_AFTER_ERROR_MS = 5;

class SteadyRun {
  private measuring = false;
  private over = false;
  private pairs = 0;
  private pairsInAll = 0;
  private errors = 0;
  private firstError: string | undefined;
  private readonly perWorker: number[];
  private readonly log = new HoldLog();

  constructor(
    private readonly client: LockClient,
    private readonly load: SteadyLoad,
  ) {
    this.perWorker = new Array<number>(load.inFlight).fill(0);
  }

  async run(): Promise<Sample> {
    const workers = this.perWorker.map((_, worker) => this.work(worker));
    await this.warmedUp();
    const cpuBefore = cpuMs();
    const startedMs = performance.now();
    this.measuring = true;
    await this.measured(startedMs);
    this.measuring = false;
    const elapsedMs = performance.now() - startedMs;
    const cpu = cpuMs() - cpuBefore;
    this.over = true;
    await Promise.all(workers);
    return this.sample(elapsedMs, cpu);
  }

  private async warmedUp(): Promise<void> {
    const { warmMs, warmPairs = 0, maxWarmMs = Infinity } = this.load;
    const startedMs = performance.now();
    await sleep(warmMs);
    while (this.pairsInAll < warmPairs && performance.now() - startedMs < maxWarmMs) await sleep(10);
  }

  /** Longer than asked where not even one pair for each worker is done by then. */
  private async measured(startedMs: number): Promise<void> {
    const { ms, inFlight } = this.load;
    await sleep(ms);
    while (this.pairs < inFlight && performance.now() - startedMs < ms * MAX_STRETCH) await sleep(10);
  }

  /** One function, and one `await` for each pair: where asynchronous contexts are in use every promise of ours costs too. */
  private async work(worker: number): Promise<void> {
    const nextKey = keysFor(this.load.keys, worker, this.load.inFlight);
    while (!this.over) {
      const key = nextKey();
      const startedMs = performance.now();
      try {
        await this.client.section(key, this.log.isFull ? nothing : this.noted(key, startedMs));
        this.done(startedMs, worker);
      } catch (error) {
        this.errors++;
        this.firstError ??= messageOf(error);
        await sleep(PAUSE_AFTER_ERROR_MS);
      }
    }
  }

  private done(startedMs: number, worker: number): void {
    this.pairsInAll++;
    if (!this.measuring) return;
    latencies[this.pairs++ % MAX_LATENCIES] = performance.now() - startedMs;
    this.perWorker[worker] = (this.perWorker[worker] as number) + 1;
  }

  private noted(key: Key, startedMs: number): (fence?: bigint) => void {
    return (fence) => this.log.add(key, fence, startedMs);
  }

  private sample(elapsedMs: number, cpu: number): Sample {
    const { pairs, pairsInAll, errors, firstError, perWorker } = this;
    const sorted = latencies.slice(0, Math.min(pairs, MAX_LATENCIES)).sort();
    return {
      pairs,
      pairsInAll,
      elapsedMs,
      p50Ms: percentile(sorted, 0.5),
      p99Ms: percentile(sorted, 0.99),
      cpuMs: cpu,
      errors,
      ...(firstError === undefined ? undefined : { firstError }),
      perWorker,
      holds: this.log.holds,
    };
  }
}

const nothing = (): undefined => undefined;

export function steady(client: LockClient, load: SteadyLoad): Promise<Sample> {
  return new SteadyRun(client, load).run();
}
