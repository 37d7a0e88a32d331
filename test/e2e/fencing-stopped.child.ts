// What test/e2e/fencing-stopped.spec.ts starts, compiled: a holder whose write may come late.
// Arguments: url of the lock server, url of the database.
import { createKlock, type LockHandle } from 'klock/core';
import { klockDriver } from 'klock/client';
import { fencedRow, proofOf, type FenceProof } from 'klock/fencing';
import pg from 'pg';
import { serve } from '../support/child-side.mjs';

const [lockUrl = '', databaseUrl = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: databaseUrl });
const klock = createKlock({ driver: klockDriver({ url: lockUrl }), ttlMs: 600 });
let lock: LockHandle;
/** Taken while the lock was held: the write that is under way already. */
let proof: FenceProof;

async function write(text: string, source: LockHandle | FenceProof): Promise<string> {
  const row = fencedRow(source);
  const [set, where] = [row.set.numbered(2), row.where.numbered(3)];
  const statement = `UPDATE page SET text = $1, ${set.text} WHERE ${where.text}`;
  row.check((await pool.query(statement, [text, ...set.values, ...where.values])).rowCount);
  return 'written';
}

serve({
  acquire: async () => {
    lock = await klock.acquire('page', { waitMs: 20_000 });
    proof = proofOf(lock);
    return lock.fence;
  },
  write: async (text: string) => await write(text, lock),
  writeLate: async (text: string) => await write(text, proof),
  release: async () => await lock.release(),
});
