import { StaleFenceError, formatKey, optionError, refuseUnknown, type FenceProof } from '../core/index.js';
import { proofOf, type FenceSource } from './proof-of.js';
import { SqlFragment, lastPart, sqlName } from './sql-fragment.js';

export interface FencedRowOptions {
  /** The row's own mark, `bigint NOT NULL DEFAULT 0`; with table or alias where the statement needs it. Default `fence`. */
  readonly column?: string;
}

/** The two pieces of a conditional update, and the look at what it did. */
export interface FencedRow {
  /** `fence = ?`, for the list behind SET. */
  readonly set: SqlFragment;
  /** `fence <= ?`, for the condition behind WHERE, next to the row's key. */
  readonly where: SqlFragment;
  readonly proof: FenceProof;
  /**
   * Call with the number of rows the statement changed, inside the transaction, so that a refusal rolls it back.
   * @throws StaleFenceError for 0. InvalidOptionError where the driver did not tell.
   */
  check(changedRows: number | null | undefined): void;
}

/**
 * A conditional UPDATE in one statement, for any SQL database:
 * `UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $4`.
 * One mark is enough for a row that is written only under its own L2 or the L1 above it, since all such grants conflict.
 * An equal fence passes: it is the same grant.
 * @throws LockLostError, LockNotHeldError for a handle that is not held any more; InvalidOptionError.
 */
export function fencedRow(source: FenceSource, options: FencedRowOptions = {}): FencedRow {
  refuseUnknown('fencedRow', options, ['column']);
  const column = sqlName('column', options.column ?? 'fence');
  const proof = proofOf(source);
  return {
    // Columns behind SET take no table name.
    set: new SqlFragment([`${lastPart(column)} = `, ''], [proof.fence]),
    where: new SqlFragment([`${column} <= `, ''], [proof.fence]),
    proof,
    check: (changedRows) => checkChanged(changedRows, proof),
  };
}

function checkChanged(changedRows: unknown, proof: FenceProof): void {
  if (typeof changedRows !== 'number' || !Number.isSafeInteger(changedRows) || changedRows < 0) {
    throw optionError('changedRows', 'the number of rows the statement changed', changedRows);
  }
  if (changedRows > 0) return;
  throw new StaleFenceError(
    `no row took fence ${proof.fence} of ${formatKey(proof.key)}: it carries a larger one, or there is no such row`,
    { key: proof.key, fence: proof.fence },
  );
}
