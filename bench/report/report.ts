import type { Figures, Row } from '../results.js';
import type { Workload } from '../workloads/index.js';
import type { Verdict } from './ratio.js';
import { short, table } from './table.js';

const COLUMNS: readonly (readonly [keyof Figures, string])[] = [
  ['pairsPerSecond', 'pairs/s'],
  ['nsPerPair', 'ns/pair'],
  ['p50Ms', 'p50 ms'],
  ['p99Ms', 'p99 ms'],
  ['clientCpuMs', 'client CPU'],
  ['serverCpuMs', 'server CPU'],
  ['commandsPerPair', 'commands/pair'],
  ['processSpread', 'processes'],
  ['workerSpread', 'waiters'],
  ['bytes', 'bytes'],
  ['times', 'times'],
  ['ms', 'ms'],
];

/** All rows of one workload, one table for each of its cases. */
export function workloadReport(workload: Workload, rows: readonly Row[]): string {
  const own = rows.filter((row) => row.workload === workload.name);
  const cases = [...new Set(own.map((row) => row.at))];
  const parts = cases.map((at) =>
    caseReport(
      at,
      own.filter((row) => row.at === at),
    ),
  );
  return [`\n== ${workload.name}: ${workload.title}`, ...parts].join('\n');
}

function caseReport(at: string, rows: readonly Row[]): string {
  const columns = COLUMNS.filter(([name]) => rows.some((row) => row.figures[name] !== undefined));
  const lines = rows.map((row) => {
    if (row.notMeasured !== undefined) return [row.title, `not measured: ${row.notMeasured}`];
    return [row.title, ...columns.map(([name]) => cell(row.figures[name]))];
  });
  const failures = rows
    .filter((row) => row.errors !== undefined)
    .map(
      (row) =>
        `  ${row.title}: ${row.errors} calls failed, the first with: ${row.firstError ?? 'no message'}`,
    );
  return ['', table([at, ...columns.map(([, title]) => title)], lines), ...failures].join('\n');
}

const cell = (value: number | undefined): string => (value === undefined ? '-' : short(value));

const OF_A_QUICK_RUN =
  'Of a quick run, in which nothing gets warm: a whole run may reach what is missed here.';

export function ratioReport(verdicts: readonly Verdict[], quick: boolean): string {
  const lines = verdicts.map(({ ratio, value, met, notMeasured }) => {
    const what = `${ratio.id.padEnd(4)} ${ratio.text}`;
    if (notMeasured !== undefined || value === undefined) return [what, `not measured: ${notMeasured ?? ''}`];
    return [what, `${short(value)} ${ratio.unit}`, targetOf(ratio), met ? 'reached' : 'MISSED'];
  });
  const head = quick ? ['\n== ratios', OF_A_QUICK_RUN] : ['\n== ratios'];
  return [...head, '', table(['', 'measured', 'target', ''], lines)].join('\n');
}

export function targetOf({ target, unit }: Verdict['ratio']): string {
  return 'atLeast' in target ? `≥ ${target.atLeast} ${unit}` : `≤ ${target.atMost} ${unit}`;
}

/** One line for each ratio that is not as it should be. */
export function missReport(verdicts: readonly Verdict[]): string {
  return verdicts
    .filter(({ met }) => !met)
    .map(({ ratio, value, notMeasured }) => {
      const found =
        value === undefined ? `not measured: ${notMeasured ?? ''}` : `${short(value)} ${ratio.unit}`;
      return `${ratio.id} ${ratio.text}: ${found}, target ${targetOf(ratio)}`;
    })
    .join('\n');
}
