import type { Bench } from '../bench.js';

/** A kind of work, measured for all contenders that can do it. */
export interface Workload {
  /** Short, as in `--only`. */
  readonly name: string;
  /** A line that says what is done. */
  readonly title: string;
  /** Ratios that need its rows. */
  readonly ratios: readonly string[];
  run(bench: Bench, contenders: Wanted): Promise<void>;
}

/** Whether a ratio or a workload by its name was asked for. */
export type Wanted = (...names: readonly string[]) => boolean;
