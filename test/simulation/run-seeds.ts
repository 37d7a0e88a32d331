import { explain, simulate, type Totals } from '../../lib/testing/simulation/index.js';
import { klockSystem } from './klock-system.js';

/** What `npm run simulate` was asked for. */
export interface SeedRange {
  readonly from: number;
  readonly seeds: number;
}

/** Simulated hours for each minute of this process's time. */
function pace(simulatedMs: number, { user, system }: NodeJS.CpuUsage): number {
  return simulatedMs / 3_600_000 / ((user + system) / 60_000_000);
}

/** Runs seeds and says how it goes; true if no invariant was breached. */
export async function runSeeds({ from, seeds }: SeedRange, say: (line: string) => void): Promise<boolean> {
  const started = process.cpuUsage();
  let toldMs = performance.now();
  const onRun = (total: Totals): void => {
    if (performance.now() - toldMs < 5_000) return;
    toldMs = performance.now();
    say(
      `${total.runs} of ${seeds} seeds, ${lineOf(total, pace(total.simulatedMs, process.cpuUsage(started)))}`,
    );
  };
  const { failed, ...total } = await simulate({ system: klockSystem, from, seeds, onRun });
  if (failed !== undefined) {
    say(`seed ${failed.plan.seed} breaches ${failed.finding?.invariant}; shortening it ...`);
    say(await explain(failed, klockSystem));
  }
  const summary = `${failed === undefined ? 0 : 1} violations in ${total.runs} seeds`;
  say(`${summary}; ${lineOf(total, pace(total.simulatedMs, process.cpuUsage(started)))}`);
  return failed === undefined;
}

function lineOf({ simulatedMs, grants, writes, refusedWrites }: Totals, hoursPerMinute: number): string {
  const hours = (simulatedMs / 3_600_000).toFixed(1);
  return `${hours} simulated hours (${hoursPerMinute.toFixed(0)} for each minute of CPU), ${grants} grants, ${writes} writes, ${refusedWrites} stale ones refused`;
}
