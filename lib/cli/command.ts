import type { Clock, Random } from '../core/index.js';
import type { Flags } from './flags.js';

/** What a command is given of the process it runs in. */
export interface Terminal {
  readonly clock: Clock;
  readonly random: Random;
  print(line: string): void;
  /** Ends a run early: what was found so far is still told. */
  readonly signal?: AbortSignal;
}

/** One word behind `klock`. */
export interface Command {
  readonly about: string;
  /** Words before the flags, as `--help` shows them. */
  readonly takes?: string;
  /** What else `--help` says: exit codes, say. */
  readonly notes?: readonly string[];
  readonly flags: Flags;
  /** @returns the exit code. @throws UsageError, InvalidOptionError for what it cannot be run with. */
  run(words: readonly string[], terminal: Terminal): Promise<number>;
}
