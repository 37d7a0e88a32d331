import { LockServer } from 'klock/server';
import pg from 'pg';
import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { scaleNote, scaled } from '../support/scale.js';
import { startPostgres, type PostgresServer } from '../support/services/index.js';

const BOOKINGS = 100;
const FACTOR = 10;
const COMMIT_DELAY_MS = scaled(200, FACTOR);
const SLOW_MS = 120_000;

let locks: LockServer;
let database: PostgresServer;
let pool: pg.Pool;
let replicas: Child[];

beforeAll(async () => {
  [locks, database] = await Promise.all([startLocks(), startPostgres()]);
  pool = new pg.Pool({ connectionString: database.url });
  await pool.query(
    'CREATE TABLE account (id text PRIMARY KEY, balance int NOT NULL, fence bigint NOT NULL DEFAULT 0)',
  );
  const args = [`klock://${locks.address}`, database.url, String(COMMIT_DELAY_MS)];
  const start = async (): Promise<Child> =>
    await startCompiled('test/e2e/transactions-accounts.child.ts', { args });
  // One compiles, the others find its file.
  replicas = [await start(), ...(await Promise.all([start(), start()]))];
}, SLOW_MS);

afterAll(async () => {
  for (const replica of replicas ?? []) {
    await replica.call('stop');
    await replica.kill();
  }
  await pool?.end();
  await database?.stop();
  await locks?.close();
}, SLOW_MS);

async function startLocks(): Promise<LockServer> {
  const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false, drainMs: 300 });
  await server.start();
  return server;
}

/** Books from all replicas at once; the balance at the end and what failed. */
async function book(order: string): Promise<{ balance: number; failures: unknown[] }> {
  await pool.query('INSERT INTO account (id, balance) VALUES ($1, 0)', [order]);
  const counts = replicas.map((_, i) => Math.floor((BOOKINGS + i) / replicas.length));
  await Promise.all(replicas.map((replica, i) => replica.call('start', order, order, counts[i])));
  const isOurs = (data: unknown): boolean => (data as { id: string }).id === order;
  const ends = await Promise.all(replicas.map((replica) => replica.event('done', isOurs, SLOW_MS)));
  const { rows } = await pool.query<{ balance: number }>('SELECT balance FROM account WHERE id = $1', [
    order,
  ]);
  return {
    balance: rows[0]?.balance ?? NaN,
    failures: ends.flatMap(({ data }) => (data as { failures: unknown[] }).failures),
  };
}

describe(`${BOOKINGS} bookings at once over three processes, each commit ${COMMIT_DELAY_MS} ms late${scaleNote(FACTOR)}`, () => {
  it(
    '[B-080] with @Locked outermost the balance is exact',
    async () => {
      expect(await book('lockOutside')).toEqual({ balance: BOOKINGS, failures: [] });
    },
    SLOW_MS,
  );

  it(
    '[B-080] with @Locked inside the transaction and holdUntil its end the balance is exact',
    async () => {
      expect(await book('lockHeld')).toEqual({ balance: BOOKINGS, failures: [] });
    },
    SLOW_MS,
  );

  it(
    '[B-080] with @Locked inside and nothing else bookings are lost: what the order check warns of',
    async () => {
      const { balance, failures } = await book('lockInside');
      expect(failures).toEqual([]);
      expect(balance).toBeLessThan(BOOKINGS);
    },
    SLOW_MS,
  );
});
