import { LockServer } from 'klock/server';
import pg from 'pg';
import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { startPostgres, type PostgresServer } from '../support/services/index.js';

const SLOW_MS = 60_000;
let locks: LockServer;
let database: PostgresServer;
let pool: pg.Pool;
let stopped: Child;
let next: Child;

beforeAll(async () => {
  locks = new LockServer({ address: '127.0.0.1:0', rateLimit: false, drainMs: 100 });
  [database] = await Promise.all([startPostgres(), locks.start()]);
  pool = new pg.Pool({ connectionString: database.url });
  await pool.query('CREATE TABLE page (text text, fence bigint NOT NULL DEFAULT 0)');
  await pool.query(`INSERT INTO page VALUES ('')`);
  const args = [`klock://${locks.address}`, database.url];
  stopped = await startCompiled('test/e2e/fencing-stopped.child.ts', { args });
  next = await startCompiled('test/e2e/fencing-stopped.child.ts', { args });
}, SLOW_MS);

afterAll(async () => {
  await Promise.all([stopped?.kill(), next?.kill()]);
  await pool?.end();
  await database?.stop();
  await locks?.close();
}, SLOW_MS);

describe('a holder that is stopped for longer than its lease (SIGSTOP, a real database)', () => {
  it(
    '[I4] [B-013] cannot write any more: its handle says so, and a write under way already is refused by its fence',
    async () => {
      const first = BigInt(await stopped.call<string>('acquire'));
      expect(await stopped.call('write', 'first')).toBe('written');
      stopped.pause();
      const second = BigInt(await next.call<string>('acquire'));
      expect(second).toBeGreaterThan(first);
      expect(await next.call('write', 'second')).toBe('written');
      stopped.resume();
      await expect(stopped.call('writeLate', 'late')).rejects.toMatchObject({ code: 'STALE_FENCE' });
      await expect(stopped.call('write', 'late')).rejects.toMatchObject({ code: 'LOCK_LOST' });
      const { rows } = await pool.query<{ text: string }>('SELECT text FROM page');
      expect(rows).toEqual([{ text: 'second' }]);
      expect(await next.call('release')).toBe('released');
    },
    SLOW_MS,
  );
});
