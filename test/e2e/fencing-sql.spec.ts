import pg from 'pg';
import {
  fenceTable,
  fencedRow,
  sqlFenceStore,
  type FenceProof,
  type FenceStore,
  type FenceStoreOptions,
} from 'klock/fencing';
import { startPostgres, type PostgresServer } from '../support/services/index.js';
import {
  Oracle,
  STORE,
  fenceStoreCases,
  proof,
  random,
  randomWrite,
  seed,
  verdict,
} from './fencing-cases.js';

const SLOW_MS = 120_000;
let server: PostgresServer;
let pool: pg.Pool;

beforeAll(async () => {
  server = await startPostgres();
  pool = new pg.Pool({ connectionString: server.url, max: 8 });
}, SLOW_MS);

afterAll(async () => {
  await pool.end();
  await server.stop();
});

const created = new Map<string, Promise<unknown>>();

/** A store on a table of its own, made with the first statement. */
function make(space: string, options: FenceStoreOptions = {}, on: Pick<pg.Pool, 'query'> = pool): FenceStore {
  const table = `fences_${space}`;
  const query = async (text: string, values: unknown[]): Promise<unknown> => {
    if (!created.has(table)) created.set(table, pool.query(fenceTable(table).ddl));
    await created.get(table);
    return await on.query(text, values);
  };
  return sqlFenceStore({ ...options, table, query });
}

/** Runs work in a transaction; a failure rolls it back. */
async function transaction<T>(
  work: (client: pg.PoolClient) => Promise<T>,
  isolation = 'READ COMMITTED',
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

describe('the fence store in a PostgreSQL table', () => {
  fenceStoreCases(make);

  it('takes the rows as TypeORM and Prisma give them, and refuses an answer without one', async () => {
    const query = async (text: string, values: unknown[]): Promise<unknown> =>
      (await pool.query(text, values)).rows;
    await pool.query(fenceTable('fences_rows').ddl);
    const store = sqlFenceStore({ table: 'fences_rows', query });
    await store.accept(proof(10n, 'k'));
    expect(await verdict(store, proof(9n, 'k'))).toBe('STALE_FENCE');
    for (const answer of [undefined, [], { rows: [] }, [{}], 1]) {
      const odd = sqlFenceStore({ query: () => Promise.resolve(answer) });
      expect(await verdict(odd, proof(11n, 'k'))).toBe('BACKEND_STATE');
    }
    const untrue = sqlFenceStore({ query: () => Promise.resolve([{ accepted: 1 }]) });
    expect(await verdict(untrue, proof(11n, 'k'))).toBe('STALE_FENCE');
  });

  it('[B-080] a write that waits for an uncommitted one is judged by what that one committed', async () => {
    const store = make('waits');
    await store.accept(proof(1n, 'acct', '1'));
    let commit = (): void => undefined;
    const held = new Promise<void>((resolve) => (commit = resolve));
    const newer = transaction(async (client) => {
      await make('waits', {}, client).accept(proof(10n, 'acct', '1'));
      await held;
    });
    await eventually(async () => (await blocked()) === 0 && (await idleInTransaction()) === 1);
    const older = transaction((client) => verdict(make('waits', {}, client), proof(9n, 'acct', '1')));
    await eventually(async () => (await blocked()) === 1);
    commit();
    await newer;
    expect(await older).toBe('STALE_FENCE');
  });

  it('a newer one that rolled back leaves no mark', async () => {
    const store = make('rollback');
    const failed = transaction(async (client) => {
      await make('rollback', {}, client).accept(proof(10n, 'k'));
      throw new Error('the write failed');
    });
    await expect(failed).rejects.toThrow('the write failed');
    expect(await verdict(store, proof(9n, 'k'))).toBe('accepted');
  });

  it(`[I4] whatever runs beside it, the writes that were committed have rising fences where they conflict (seed ${seed})`, async () => {
    await make('race').accept(proof(1n, 'unrelated'));
    await pool.query('CREATE TABLE log (id bigserial, fence bigint, l1 text, l2 text)');
    const next = random(seed);
    const writes = Array.from({ length: 240 }, () => randomWrite(next, 2, 3));
    let accepted = 0;
    const write = async ({ fence, key }: FenceProof): Promise<void> =>
      await transaction(async (client) => {
        if ((await verdict(make('race', {}, client), { fence, key, store: STORE })) !== 'accepted') return;
        // Behind the decision: the row of the tree is ours until the commit.
        await client.query('INSERT INTO log (fence, l1, l2) VALUES ($1, $2, $3)', [fence, key[0], key[1]]);
        accepted++;
      });
    await Promise.all(writes.map(write));
    const { rows } = await pool.query<{ fence: string; l1: string; l2: string | null }>(
      'SELECT * FROM log ORDER BY id',
    );
    expect(rows).toHaveLength(accepted);
    expect(accepted).toBeGreaterThan(5);
    const oracle = new Oracle();
    for (const { fence, l1, l2 } of rows) {
      const logged = proof(BigInt(fence), l1, l2 ?? undefined);
      expect(oracle.allows(logged)).toBe(true);
      oracle.note(logged);
    }
  });

  it('prunes what was not written for long, the L2 never after its L1', async () => {
    const store = make('prune');
    await store.accept(proof(1n, 'old', 'a'));
    await store.accept(proof(1n, 'new', 'a'));
    await pool.query(`UPDATE fences_prune SET written_at = now() - interval '2 hours' WHERE l1 = 'old'`);
    const { text, values } = fenceTable('fences_prune').prune(3_600_000).numbered();
    expect((await pool.query(text, values)).rowCount).toBe(2);
    const { rows } = await pool.query<{ l1: string }>('SELECT DISTINCT l1 FROM fences_prune');
    expect(rows).toEqual([{ l1: 'new' }]);
  });
});

describe('a row that carries its own fence, in PostgreSQL', () => {
  beforeAll(async () => {
    await pool.query(
      'CREATE TABLE account (id int PRIMARY KEY, balance int, fence bigint NOT NULL DEFAULT 0)',
    );
    await pool.query('INSERT INTO account VALUES (1, 0, 0)');
  });

  async function setBalance(balance: number, write: FenceProof): Promise<string> {
    const row = fencedRow(write);
    const set = row.set.numbered(2);
    const where = row.where.numbered(3);
    const text = `UPDATE account SET balance = $1, ${set.text} WHERE id = 1 AND ${where.text}`;
    const { rowCount } = await pool.query(text, [balance, ...set.values, ...where.values]);
    try {
      row.check(rowCount);
      return 'accepted';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  it('[I4] [B-012] takes equal and larger fences and refuses smaller ones, exact to the last bit', async () => {
    const large = 2n ** 53n + 1n;
    expect(await setBalance(1, proof(large, 'account', '1'))).toBe('accepted');
    expect(await setBalance(2, proof(large, 'account', '1'))).toBe('accepted');
    expect(await setBalance(3, proof(large - 1n, 'account', '1'))).toBe('STALE_FENCE');
    expect(await setBalance(4, proof(large + 1n, 'account'))).toBe('accepted');
    const { rows } = await pool.query('SELECT balance, fence FROM account');
    expect(rows).toEqual([{ balance: 4, fence: (large + 1n).toString() }]);
  });
});

async function countActivity(where: string): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    `SELECT count(*) FROM pg_stat_activity WHERE ${where}`,
  );
  return Number(rows[0]?.count);
}

const blocked = (): Promise<number> => countActivity(`wait_event_type = 'Lock'`);
const idleInTransaction = (): Promise<number> => countActivity(`state = 'idle in transaction'`);

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 5_000;
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error('it did not come about within 5 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
