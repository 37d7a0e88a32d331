import type { LockKey } from '../core/index.js';
import type { L1Node, L2Node } from './lock-node.js';

/**
 * Where an entry stands in the table.
 * ```text
 * out ──► l1-queue ──► l2-queue ──► held ──► out      (an L2 request)
 * out ──► l1-queue ───────────────► held ──► out      (an L1 request)
 * ```
 * An entry in an L2 queue already holds its L1 node shared. From every queue an entry may be withdrawn to `out`.
 */
export type Stage = 'out' | 'l1-queue' | 'l2-queue' | 'held';

/** What a table moves: made by the caller, everything but the key written by the table only. */
export interface Placed {
  readonly l1: string;
  /** Undefined for a request for the whole tree. */
  readonly l2: string | undefined;
  stage: Stage;
  /** Its number in the order of arrival, from the first time it was queued; 0 before. Kept when it is withdrawn. */
  arrival: number;
  /** @internal */
  node: L1Node | undefined;
  /** @internal */
  child: L2Node | undefined;
  /** @internal */
  ahead: Placed | undefined;
  /** @internal */
  behind: Placed | undefined;
}

/** One request for one key: waiting, holding, or neither. */
export class TableEntry implements Placed {
  readonly l1: string;
  readonly l2: string | undefined;
  stage: Stage = 'out';
  arrival = 0;
  node: L1Node | undefined = undefined;
  child: L2Node | undefined = undefined;
  ahead: Placed | undefined = undefined;
  behind: Placed | undefined = undefined;

  constructor(key: LockKey) {
    this.l1 = key[0];
    this.l2 = key.length === 2 ? key[1] : undefined;
  }

  /** Whether it holds its key. */
  get held(): boolean {
    return this.stage === 'held';
  }

  /** Whether it stands in a queue. */
  get waiting(): boolean {
    return this.stage === 'l1-queue' || this.stage === 'l2-queue';
  }
}
