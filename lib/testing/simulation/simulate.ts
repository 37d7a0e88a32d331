import type { Finding } from './finding.js';
import { planFor, type Plan, type PlanOptions } from './plan.js';
import { runPlan, type RunResult } from './run-plan.js';
import { retell, shrink } from './shrink.js';
import type { SystemFactory } from './system.js';

export interface SimulateOptions extends PlanOptions {
  readonly system: SystemFactory;
  /** First seed. */
  readonly from: number;
  readonly seeds: number;
  /** Changes a drawn plan: for runs that look for something in particular. */
  readonly adjust?: (plan: Plan) => Plan;
  /** Called after every run. */
  readonly onRun?: (total: Totals) => void;
}

/** What many runs came to. */
export interface Totals {
  readonly runs: number;
  readonly simulatedMs: number;
  readonly events: number;
  readonly grants: number;
  readonly writes: number;
  /** Writes the resource refused for their fence. */
  readonly refusedWrites: number;
}

export interface Simulated extends Totals {
  /** The first run that breached an invariant, if any; nothing ran after it. */
  readonly failed: RunResult | undefined;
}

const NOTHING: Totals = { runs: 0, simulatedMs: 0, events: 0, grants: 0, writes: 0, refusedWrites: 0 };

/** Runs seed after seed until one breaches an invariant. */
export async function simulate(options: SimulateOptions): Promise<Simulated> {
  const { system, from, seeds, adjust = (plan: Plan) => plan, onRun } = options;
  let total = NOTHING;
  for (let seed = from; seed < from + seeds; seed++) {
    const result = await runPlan(adjust(planFor(seed, options)), system);
    total = add(total, result);
    onRun?.(total);
    if (result.finding !== undefined) return { ...total, failed: result };
  }
  return { ...total, failed: undefined };
}

/** A failed run for a person: shortened, then told line by line. */
export async function explain(failed: RunResult, system: SystemFactory): Promise<string> {
  const { plan, finding } = failed;
  if (finding === undefined) return 'nothing was breached';
  const shorter = await shrink(plan, finding, system);
  const told = await retell(shorter, system);
  return [...headOf(shorter, told.finding ?? finding), '', ...told.trace].join('\n');
}

function headOf(plan: Plan, { invariant, message, atMs }: Finding): string[] {
  const { seed, ttlMs, store, clients, faults, tasks, noise } = plan;
  return [
    `seed ${seed}: ${invariant} at ${atMs.toFixed(1)} ms: ${message}`,
    `shortened to ${tasks.length} tasks and ${faults.length} faults; ttl ${ttlMs} ms, ${store.sixCalls ? 'six calls' : 'channel'}`,
    `clock rates: server ${store.clock.rate.toFixed(4)}, ${clients.map(({ clock }, at) => `c${at + 1} ${clock.rate.toFixed(4)}`).join(', ')}`,
    `network: ${JSON.stringify(noise)}`,
  ];
}

function add(total: Totals, run: RunResult): Totals {
  return {
    runs: total.runs + 1,
    simulatedMs: total.simulatedMs + run.simulatedMs,
    events: total.events + run.events,
    grants: total.grants + run.grants,
    writes: total.writes + run.writes,
    refusedWrites: total.refusedWrites + run.refusedWrites,
  };
}
