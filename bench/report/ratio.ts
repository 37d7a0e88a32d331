import type { Figures, Results, Row } from '../results.js';

/** One line of the table of ratios. */
export interface Ratio {
  readonly id: string;
  readonly text: string;
  readonly target: { readonly atLeast: number } | { readonly atMost: number };
  readonly unit: '×' | 'KB' | 'commands';
  /** @throws NotMeasured */
  value(results: Results): number;
}

export interface Verdict {
  readonly ratio: Ratio;
  readonly value?: number;
  readonly met: boolean;
  readonly notMeasured?: string;
  /** Its workload was not run. */
  readonly notAsked?: true;
}

export class NotMeasured extends Error {}

/** The workload was not run, or not for this contender. */
class NoRow extends NotMeasured {}

/** @throws NotMeasured with the row's own reason */
export function figureOf(results: Results, name: keyof Figures, ...row: [string, string, string]): number {
  const found = results.find(...row);
  if (found === undefined) throw new NoRow(`no row ${row.join(', ')}`);
  return figure(found, name);
}

function figure(row: Row, name: keyof Figures): number {
  const value = row.figures[name];
  if (value === undefined) throw new NotMeasured(`${row.title}: ${row.notMeasured ?? `no ${name}`}`);
  return value;
}

/** The row with most pairs per second among those that have any. @throws NotMeasured */
export function fastest(results: Results, workload: string, at: string, names: readonly string[]): Row {
  const rows = names.map((name) => results.find(workload, at, name)).filter((row) => row !== undefined);
  const measured = rows.filter((row) => row.figures.pairsPerSecond !== undefined);
  const [first, ...others] = measured;
  if (first === undefined) {
    const [row] = rows;
    if (row === undefined) throw new NoRow(`none of ${names.join(', ')} in ${workload}, ${at}`);
    throw new NotMeasured(`${row.title}: ${row.notMeasured ?? 'no figures'}`);
  }
  const pairs = (row: Row): number => row.figures.pairsPerSecond ?? 0;
  return others.reduce((best, row) => (pairs(row) > pairs(best) ? row : best), first);
}

export function judge(ratio: Ratio, results: Results): Verdict {
  try {
    const value = ratio.value(results);
    const { target } = ratio;
    const met = 'atLeast' in target ? value >= target.atLeast : value <= target.atMost;
    return { ratio, value, met };
  } catch (error) {
    if (!(error instanceof NotMeasured)) throw error;
    const notAsked = error instanceof NoRow && { notAsked: true as const };
    return { ratio, met: false, notMeasured: error.message, ...notAsked };
  }
}
