import { checkHolds } from './check-holds.js';
import { loadContender, type ContenderName } from './contenders/index.js';
import type { Holds } from './loads/hold-log.js';
import { messageOf } from './loads/sample.js';
import { median } from './numbers.js';
import { Results, type Figures, type Row } from './results.js';
import type { Stage } from './stage.js';

export const ROUNDS = 3;

/** One measurement of one contender. */
export interface Measured {
  readonly figures: Figures;
  readonly errors?: number;
  readonly firstError?: string;
}

/** What is measured together: every contender once in each round, so that a busy moment of the machine hits all alike. */
export interface Measurement {
  readonly workload: string;
  readonly at: string;
  readonly contenders: readonly ContenderName[];
  readonly measure: (contender: ContenderName) => Promise<Measured>;
}

/** One run: what was asked for, the stage and the results. */
export class Bench {
  readonly results = new Results();
  /** What was wrong with the holds of a contender: whoever measures something that does not lock measures nothing. */
  readonly violations: string[] = [];
  /** Holds looked at so far. */
  checked = 0;

  constructor(
    readonly stage: Stage,
    readonly quick: boolean,
    /** On `performance.now()`: what would begin later is left out. */
    private readonly untilMs: number,
    private readonly tell: (line: string) => void,
  ) {}

  /** The first in a quick run, the second otherwise. */
  pick<T>(quick: T, full: T): T {
    return this.quick ? quick : full;
  }

  /** @throws Error when there is no time for another measurement. */
  checkTime(): void {
    if (this.isLate) throw new Error('the time of the run was over');
  }

  /** Looks whether holds of processes that were loaded together can have been. */
  check(what: string, processes: readonly { readonly holds: Holds }[]): void {
    for (const problem of checkHolds(processes.map(({ holds }) => holds)))
      this.violations.push(`${what}: ${problem}`);
    this.checked += processes.reduce((sum, { holds }) => sum + holds.fence.length, 0);
  }

  private get isLate(): boolean {
    return performance.now() > this.untilMs;
  }

  /** Measures in interleaved rounds and adds one row of medians for each contender. */
  async interleaved({ workload, at, contenders, measure }: Measurement): Promise<void> {
    this.tell(`${workload}, ${at}`);
    const measured = new Map<ContenderName, Measured[]>(contenders.map((name) => [name, []]));
    const problems = new Map<ContenderName, string>();
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of contenders) {
        const done = measured.get(name) ?? [];
        if (problems.has(name) || (this.isLate && done.length > 0)) continue;
        try {
          this.checkTime();
          done.push(await measure(name));
        } catch (error) {
          problems.set(name, messageOf(error));
        }
      }
    }
    for (const name of contenders) {
      const { title } = await loadContender(name);
      const head = { workload, at, contender: name, title };
      this.results.add({ ...head, ...rowOf(measured.get(name) ?? [], problems.get(name)) });
    }
  }

  /** A row measured in a way of its own; a failure becomes its reason for having no figures. */
  async single(head: Omit<Row, 'figures'>, measure: () => Promise<Figures>): Promise<void> {
    try {
      this.checkTime();
      this.tell(`${head.workload}, ${head.at}, ${head.title}`);
      this.results.add({ ...head, figures: await measure() });
    } catch (error) {
      this.results.add({ ...head, figures: {}, notMeasured: messageOf(error) });
    }
  }
}

function rowOf(
  rounds: readonly Measured[],
  problem: string | undefined,
): Pick<Row, 'figures' | 'notMeasured' | 'errors' | 'firstError'> {
  const errors = rounds.reduce((sum, round) => sum + (round.errors ?? 0), 0);
  const firstError = rounds.find((round) => round.firstError !== undefined)?.firstError;
  const failures = { ...(errors > 0 && { errors }), ...(firstError !== undefined && { firstError }) };
  if (problem !== undefined) return { figures: {}, notMeasured: problem, ...failures };
  return { figures: medians(rounds.map((round) => round.figures)), ...failures };
}

function medians(rounds: readonly Figures[]): Figures {
  const names = new Set(rounds.flatMap((figures) => Object.keys(figures) as (keyof Figures)[]));
  const entries = [...names].map((name) => {
    const values = rounds.map((figures) => figures[name]).filter((value) => value !== undefined);
    return [name, median(values)] as const;
  });
  return Object.fromEntries(entries);
}
