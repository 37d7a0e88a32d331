import { createHash } from 'node:crypto';
import { checkDuration, type FenceProof } from '../core/index.js';
import { checkProof } from './fence-store.js';
import { segmentText } from './key-text.js';
import { SqlFragment, sqlName } from './sql-fragment.js';

/** An index entry of PostgreSQL holds 2,704 bytes at most, for both segments together. */
const MAX_COLUMN_LENGTH = 255;
const SHORTENED_LENGTH = 180;

/** A high-water table of PostgreSQL: its statements, for whatever library runs them. */
export interface FenceTable {
  /** Creates the table if it is missing. */
  readonly ddl: string;
  /**
   * Decides and remembers in one statement, which always answers one row: `accepted`, and what refused: `seen` (the largest
   * conflicting fence, as text), `store`. Run it in the transaction of the write, last, and roll back unless `accepted`.
   * @param store the one name of the lock store, if it has several.
   */
  accept(proof: FenceProof, store?: string): SqlFragment;
  /** Deletes what was not written for this long. A write may not stay under way as long as that. */
  prune(olderThanMs: number): SqlFragment;
}

/**
 * @param name of the table, with its schema if that is needed. Default `klock_fence`.
 * @throws InvalidOptionError
 */
export function fenceTable(name = 'klock_fence'): FenceTable {
  const table = sqlName('table', name);
  return {
    ddl: ddlOf(table),
    accept: (proof, store) => acceptIn(table, checkProof(proof), store ?? proof.store),
    prune: (olderThanMs) =>
      new SqlFragment(
        [`DELETE FROM ${table} WHERE written_at < now() - CAST(`, " AS bigint) * interval '1 millisecond'"],
        [checkDuration('olderThanMs', olderThanMs)],
      ),
  };
}

/** The tree's own row has the empty text as `l2`, which no segment is; its `mark` is that of all writes of the tree. */
function ddlOf(table: string): string {
  return `CREATE TABLE IF NOT EXISTS ${table} (
  l1 text COLLATE "C" NOT NULL,
  l2 text COLLATE "C" NOT NULL,
  store text NOT NULL,
  l1_mark bigint NOT NULL,
  mark bigint NOT NULL,
  written_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (l1, l2)
)`;
}

/**
 * The tree's row first, and only then the L2's: ON CONFLICT waits for whoever is writing the row and compares with what
 * that one committed, at every isolation level, so two writes of one tree are always one after the other.
 * A refused L2 leaves the tree as it is: its fence lies below a mark of its own, which the tree has met.
 */
function acceptIn(table: string, { key, fence }: FenceProof, store: string): SqlFragment {
  const strings = [
    'WITH written (l1, l2, store, fence) AS (SELECT CAST(',
    ' AS text), CAST(',
    ' AS text), CAST(',
    ' AS text), CAST(',
    ` AS bigint)),
tree AS (
  INSERT INTO ${table} AS f (l1, l2, store, l1_mark, mark)
  SELECT w.l1, '', w.store, CASE WHEN w.l2 = '' THEN w.fence ELSE 0 END, w.fence FROM written w
  ON CONFLICT (l1, l2) DO UPDATE SET
    l1_mark = greatest(f.l1_mark, excluded.l1_mark), mark = greatest(f.mark, excluded.mark), written_at = now()
  WHERE f.store = excluded.store
    AND excluded.mark >= CASE WHEN excluded.l1_mark > 0 THEN f.mark ELSE f.l1_mark END
  RETURNING f.l1
),
own AS (
  INSERT INTO ${table} AS f (l1, l2, store, l1_mark, mark)
  SELECT w.l1, w.l2, w.store, 0, w.fence FROM written w JOIN tree t ON t.l1 = w.l1 WHERE w.l2 <> ''
  ON CONFLICT (l1, l2) DO UPDATE SET mark = excluded.mark, written_at = now() WHERE excluded.mark >= f.mark
  RETURNING f.l1
)
SELECT
  CASE WHEN w.l2 = '' THEN EXISTS (SELECT 1 FROM tree) ELSE EXISTS (SELECT 1 FROM own) END AS accepted,
  (SELECT CAST(max(CASE WHEN f.l2 = w.l2 THEN f.mark ELSE f.l1_mark END) AS text)
    FROM ${table} f WHERE f.l1 = w.l1 AND f.l2 IN ('', w.l2)) AS seen,
  (SELECT f.store FROM ${table} f WHERE f.l1 = w.l1 AND f.l2 = '') AS store
FROM written w`,
  ];
  const [l1, l2] = key;
  return new SqlFragment(strings, [columnText(l1), l2 === undefined ? '' : columnText(l2), store, fence]);
}

/** ASCII, since text columns refuse a zero byte; what would not fit into the index is told apart by its hash. */
function columnText(segment: string): string {
  const text = segmentText(segment);
  if (text.length <= MAX_COLUMN_LENGTH) return text;
  const hash = createHash('sha256').update(segment, 'utf8').digest('hex');
  // No escaped text holds `%~`, so a shortened one equals no other.
  return `${text.slice(0, SHORTENED_LENGTH)}%~${hash}`;
}
