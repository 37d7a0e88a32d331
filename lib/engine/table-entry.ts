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

/** One request for one key: waiting, holding, or neither. Made by the caller, moved by the table. */
export class TableEntry {
  readonly l1: string;
  /** Undefined for a request for the whole tree. */
  readonly l2: string | undefined;
  /** Where it stands; written by the table only. */
  stage: Stage = 'out';
  /** Its number in the order of arrival, from the first time it was queued; 0 before. Kept when it is withdrawn. */
  arrival = 0;
  /** @internal */
  node: L1Node | undefined = undefined;
  /** @internal */
  child: L2Node | undefined = undefined;
  /** @internal */
  ahead: TableEntry | undefined = undefined;
  /** @internal */
  behind: TableEntry | undefined = undefined;

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
