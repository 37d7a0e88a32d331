import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { Bench } from './bench.js';
import { parseFlags, type Flags } from './flags.js';
import { messageOf } from './loads/sample.js';
import { judge, type Verdict } from './report/ratio.js';
import { missReport, ratioReport, targetOf, workloadReport } from './report/report.js';
import { RATIOS } from './report/ratios.js';
import type { Row } from './results.js';
import { Stage } from './stage.js';
import { WORKLOADS, type Wanted, type Workload } from './workloads/index.js';

const startedMs = performance.now();

/** A quick run begins nothing later than this: what runs then, and the end, fit into the rest of its minute. */
const QUICK_MS = 45_000;

const VIOLATIONS_TOLD = 20;

const seconds = (): string => `${((performance.now() - startedMs) / 1_000).toFixed(0)} s`.padStart(5);

/** @throws Error naming a word that is neither a ratio nor a workload. */
function chosen({ only }: Flags): { workloads: readonly Workload[]; wanted: Wanted } {
  if (only === undefined) return { workloads: WORKLOADS, wanted: () => true };
  const known = [...RATIOS.map((ratio) => ratio.id), ...WORKLOADS.map((workload) => workload.name)];
  const unknown = only.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`--only knows no ${unknown}: it takes ${[...new Set(known)].join(', ')}`);
  }
  const workloads = WORKLOADS.filter(({ name, ratios }) =>
    [name, ...ratios].some((word) => only.includes(word)),
  );
  // a workload asked for by its name is run whole
  const whole = workloads.filter(({ name }) => only.includes(name)).flatMap(({ ratios }) => ratios);
  return {
    workloads,
    wanted: (...names) => names.some((name) => only.includes(name) || whole.includes(name)),
  };
}

async function run(flags: Flags): Promise<void> {
  const { workloads, wanted } = chosen(flags);
  const stage = new Stage();
  const bench = new Bench(stage, flags.quick, startedMs + (flags.quick ? QUICK_MS : Infinity), (line) =>
    console.error(`${seconds()}  ${line}`),
  );
  try {
    for (const workload of workloads) {
      await workload.run(bench, wanted);
      console.log(workloadReport(workload, bench.results.rows));
    }
  } finally {
    await stage.close();
  }
  const verdicts = RATIOS.filter(({ id }) => wanted(id))
    .map((ratio) => judge(ratio, bench.results))
    // a workload asked for by its name may be only half of what a ratio needs
    .filter(({ ratio, notAsked }) => notAsked === undefined || flags.only?.includes(ratio.id) !== false);
  console.log(ratioReport(verdicts, flags.quick));
  tellJson(flags, bench.results.rows, verdicts);
  tellViolations(bench);
  if (flags.check) check(verdicts);
}

function tellViolations({ violations, checked }: Bench): void {
  console.error(`${checked.toLocaleString('en')} holds checked, ${violations.length} violations`);
  if (violations.length === 0) return;
  console.error(violations.slice(0, VIOLATIONS_TOLD).join('\n'));
  process.exitCode = 1;
}

function tellJson(flags: Flags, rows: readonly Row[], verdicts: readonly Verdict[]): void {
  const json = JSON.stringify({
    node: process.version,
    cores: cpus().length,
    quick: flags.quick,
    tookMs: Math.round(performance.now() - startedMs),
    rows,
    ratios: verdicts.map(({ ratio, value, met, notMeasured }) => ({
      id: ratio.id,
      text: ratio.text,
      target: targetOf(ratio),
      value,
      met,
      notMeasured,
    })),
  });
  if (flags.out === undefined) console.log(`\n${json}`);
  else writeFileSync(flags.out, `${json}\n`);
}

function check(verdicts: readonly Verdict[]): void {
  const misses = missReport(verdicts);
  if (misses === '') return;
  console.error(`\nNot as it should be:\n${misses}`);
  process.exitCode = 1;
}

try {
  await run(parseFlags(process.argv.slice(2)));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
// handles of children and stores that did not end in time must not keep a finished run alive
process.exit();
