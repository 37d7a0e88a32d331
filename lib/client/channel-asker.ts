import type { ChannelAnswer } from '../rpc/index.js';
import type { Asker } from '../session/index.js';

/** Whoever waits for the answer of an operation, perhaps not for ever. */
export interface BoundedAsker extends Asker<ChannelAnswer> {
  /** Monotonic; Infinity for none. */
  readonly endMs: number;
  /** The end has passed and nothing was heard. */
  overdue(): void;
}

/** The answer is of no use to anybody: the operation tidies up. */
export function nobody(of: number): BoundedAsker {
  return {
    of,
    endMs: Infinity,
    answered: () => undefined,
    unanswered: () => undefined,
    // What it was to end comes to light at the next renewal, if it is still there.
    askAgain: () => undefined,
    overdue: () => undefined,
  };
}
