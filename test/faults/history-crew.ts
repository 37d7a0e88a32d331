import { checkHistory, HistoryRecorder, type Violation } from '../../lib/testing/index.js';
import type { SeededRandom } from '../../lib/testing/index.js';
import { clientFaults } from './history-client-faults.js';
import { FaultRota, type Faults } from './history-rota.js';
import { HistoryWorker, type WorkerSettings } from './history-worker.js';

export interface CrewSettings extends WorkerSettings {
  readonly workers: number;
  readonly random: SeededRandom;
  /** Between two faults of the store: one that is always away grants nothing. Drawn from here to twice as long. */
  readonly storeCalmMs: number;
}

/** Until when faults go on: whichever takes longer. */
export interface Until {
  readonly grants: number;
  /** Each fault strikes so many times. */
  readonly rounds: number;
  readonly limitMs: number;
}

const CLIENT_CALM_MS = 50;
const COLLECT_MS = 100;
const LAST_WORDS_MS = 150;

/** Client processes of one store, what is done to them, and the history of what they believed. */
export class HistoryCrew {
  readonly history = new HistoryRecorder();
  readonly workers: HistoryWorker[] = [];
  private readonly uncaught: unknown[] = [];
  private readonly struck = new Map<string, number>();
  private readonly startedMs = performance.now();

  private constructor(readonly settings: CrewSettings) {}

  static async start(settings: CrewSettings): Promise<HistoryCrew> {
    const crew = new HistoryCrew(settings);
    const names = Array.from({ length: settings.workers }, (_, at) => `c${at}`);
    const started = await Promise.allSettled(names.map((name) => HistoryWorker.start(name, settings)));
    for (const each of started) if (each.status === 'fulfilled') crew.workers.push(each.value);
    const failed = started.find((each) => each.status === 'rejected');
    if (failed === undefined) return crew;
    await crew.close();
    throw failed.reason;
  }

  /** A process is killed and another takes its place. */
  async replace(at: number): Promise<void> {
    const worker = this.workers[at] as HistoryWorker;
    await worker.child.kill();
    worker.collect(this.history);
    this.uncaught.push(...worker.uncaught);
    this.workers[at] = await worker.successor();
  }

  /** Faults of the clients, one after another, and those of the store beside them. */
  async underFaults(until: Until, storeFaults: Faults, { clientsToo = true } = {}): Promise<void> {
    const { history, struck } = this;
    const { random, storeCalmMs } = this.settings;
    const rotas = [new FaultRota(storeFaults, random.fork(), struck, storeCalmMs)];
    if (clientsToo) rotas.push(new FaultRota(clientFaults(this), random.fork(), struck, CLIENT_CALM_MS));
    const wanted = history.grants.length + until.grants;
    const endMs = performance.now() + until.limitMs;
    const isOver = (): boolean =>
      performance.now() > endMs ||
      (history.grants.length >= wanted && rotas.every(({ rounds }) => rounds >= until.rounds));
    const collecting = setInterval(() => this.collect(), COLLECT_MS);
    try {
      await Promise.all(rotas.map((rota) => rota.run(isOver)));
    } finally {
      clearInterval(collecting);
    }
    if (history.grants.length < wanted) throw new Error(`too few within the limit: ${this.summary()}`);
  }

  /** Ends the work, and tells what was wrong with it. */
  async verdict(): Promise<{ readonly violations: Violation[]; readonly uncaught: readonly unknown[] }> {
    for (const { child } of this.workers) await child.call('stop');
    await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
    this.collect();
    for (const worker of this.workers) this.uncaught.push(...worker.uncaught);
    return { violations: checkHistory(this.history, { toleranceMs: 1 }), uncaught: this.uncaught };
  }

  /** Grants, time and faults, in a line. */
  summary(): string {
    const faults = [...this.struck].map(([what, times]) => `${what} ${times}`).join(', ');
    const seconds = Math.round((performance.now() - this.startedMs) / 1_000);
    return `${this.history.grants.length} grants in ${seconds} s; faults: ${faults}`;
  }

  /** The longest time between two grants of one process, so far. */
  worstStallMs(): number {
    let worstMs = 0;
    const lastMs = new Map<string, number>();
    for (const { client, grantedAtMs } of this.history.grants.toSorted(
      (a, b) => a.grantedAtMs - b.grantedAtMs,
    )) {
      worstMs = Math.max(worstMs, grantedAtMs - (lastMs.get(client) ?? grantedAtMs));
      lastMs.set(client, grantedAtMs);
    }
    return worstMs;
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
  }

  private collect(): void {
    for (const worker of this.workers) worker.collect(this.history);
  }
}
