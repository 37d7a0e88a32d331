import type { Finding } from './finding.js';
import type { Noise } from './network.js';
import type { Fault, Plan, Task } from './plan.js';
import { runPlan, type RunResult } from './run-plan.js';
import type { SystemFactory } from './system.js';

export interface ShrinkOptions {
  /** Runs spent at most. Default 300. */
  readonly budget?: number;
}

const QUIET: Noise = { drop: 0, duplicate: 0, reorder: 0, slow: 0, slowMs: 0, delayMs: 1 };

/** Leaves out of a failing run whatever it fails without: what is left can be read. */
export async function shrink(
  plan: Plan,
  finding: Finding,
  system: SystemFactory,
  { budget = 300 }: ShrinkOptions = {},
): Promise<Plan> {
  const search = new Search(finding, system, budget);
  let smallest = cutShort(plan, finding);
  if (!(await search.fails(smallest))) smallest = plan;
  for (let before = -1; before !== sizeOf(smallest) && search.left > 0;) {
    before = sizeOf(smallest);
    smallest = await search.without<Fault>(smallest, smallest.faults, (faults) => ({ faults }));
    smallest = await search.without<Task>(smallest, smallest.tasks, (tasks) => ({ tasks }));
    smallest = await search.calmed(smallest);
  }
  return smallest;
}

/** The shortened run again, with its story. */
export function retell(plan: Plan, system: SystemFactory): Promise<RunResult> {
  return runPlan(plan, system, { trace: true });
}

class Search {
  constructor(
    private readonly finding: Finding,
    private readonly system: SystemFactory,
    public left: number,
  ) {}

  /** The same invariant is breached: another one would be another story. */
  async fails(plan: Plan): Promise<boolean> {
    if (this.left-- <= 0) return false;
    const { finding } = await runPlan(plan, this.system);
    return finding?.invariant === this.finding.invariant;
  }

  /** Drops parts of a list, halves first, single ones last. */
  async without<T>(
    plan: Plan,
    list: readonly T[],
    put: (kept: readonly T[]) => Partial<Plan>,
  ): Promise<Plan> {
    let kept = list;
    let best = plan;
    for (let size = Math.ceil(kept.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = 0; at < kept.length;) {
        const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
        const shorter = { ...best, ...put(fewer) };
        if (await this.fails(shorter)) [kept, best] = [fewer, shorter];
        else at += size;
        if (this.left <= 0) return best;
      }
    }
    return best;
  }

  async calmed(plan: Plan): Promise<Plan> {
    let best = plan;
    const wholly = { ...plan, noise: QUIET };
    if (await this.fails(wholly)) return wholly;
    for (const kind of ['drop', 'duplicate', 'reorder', 'slow'] as const) {
      if (best.noise[kind] === 0) continue;
      const without = { ...best, noise: { ...best.noise, [kind]: 0 } };
      if (await this.fails(without)) best = without;
    }
    return best;
  }
}

/** Nothing that begins after the breach led to it; what shows only at the end needs all of it. */
function cutShort(plan: Plan, { invariant, atMs }: Finding): Plan {
  if (invariant === 'I7' || invariant === 'I12' || invariant === 'I4') return plan;
  return {
    ...plan,
    faults: plan.faults.filter((fault) => fault.atMs <= atMs),
    tasks: plan.tasks.filter((task) => task.atMs <= atMs),
  };
}

function sizeOf({ faults, tasks, noise }: Plan): number {
  return faults.length + tasks.length + Object.values(noise).filter((rate) => rate > 0).length;
}
