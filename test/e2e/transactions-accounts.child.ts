// What test/e2e/transactions-commit.spec.ts starts, compiled: one replica of a service that books in PostgreSQL.
// Arguments: url of the lock server, url of the database, milliseconds by which every commit is delayed.
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CurrentLock, KlockModule, Locked, asTransaction, type LockHandle } from 'klock';
import { fencedRow } from 'klock/fencing';
import pg from 'pg';
import { emit, serve } from '../support/child-side.mjs';

const [lockUrl = '', databaseUrl = '', delayMs = ''] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 15 });

interface Transaction {
  readonly client: pg.PoolClient;
  /** Settles when the transaction has been committed or rolled back. */
  readonly ended: Promise<unknown>;
}
const running = new AsyncLocalStorage<Transaction>();

/** Begins before the method and commits after it, as transaction decorators do. */
function Transactional(): MethodDecorator {
  return (_target, _name, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as (...args: unknown[]) => Promise<unknown>;
    descriptor.value = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
      const client = await pool.connect();
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      try {
        await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
        const result = await running.run({ client, ended }, () => method.apply(this, args));
        await new Promise((resolve) => setTimeout(resolve, Number(delayMs)));
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
        end();
      }
    };
  };
}

const WAIT = { waitMs: 120_000 } as const;

@Injectable()
class Accounts {
  @Locked('acct:{0}', WAIT)
  @asTransaction(Transactional())
  async lockOutside(id: string, amount: number, @CurrentLock() lock?: LockHandle): Promise<void> {
    await this.book(id, amount, lock);
  }

  @Transactional()
  @Locked('acct:{0}', WAIT)
  async lockInside(id: string, amount: number, @CurrentLock() lock?: LockHandle): Promise<void> {
    await this.book(id, amount, lock);
  }

  @asTransaction(Transactional(), { holdsUntilCommit: true })
  @Locked('acct:{0}', WAIT)
  async lockHeld(id: string, amount: number, @CurrentLock() lock?: LockHandle): Promise<void> {
    lock?.holdUntil(transaction().ended);
    await this.book(id, amount, lock);
  }

  /** Reads, and writes what it computed from that: two of them at once lose one. */
  private async book(id: string, amount: number, lock: LockHandle | undefined): Promise<void> {
    const { client } = transaction();
    const { rows } = await client.query<{ balance: number }>('SELECT balance FROM account WHERE id = $1', [
      id,
    ]);
    const row = fencedRow(lock as LockHandle);
    const [set, where] = [row.set.numbered(3), row.where.numbered(4)];
    const text = `UPDATE account SET balance = $1, ${set.text} WHERE id = $2 AND ${where.text}`;
    const values = [(rows[0]?.balance ?? NaN) + amount, id, ...set.values, ...where.values];
    row.check((await client.query(text, values)).rowCount);
  }
}

function transaction(): Transaction {
  const current = running.getStore();
  if (current === undefined) throw new Error('outside of a transaction');
  return current;
}

@Module({ imports: [KlockModule.forRoot({ url: lockUrl, ttlMs: 3_000 })], providers: [Accounts] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });

type Order = 'lockOutside' | 'lockInside' | 'lockHeld';

/** Books 1 `count` times at once; `done` tells how many failed and with what. */
async function bookAll(order: Order, id: string, count: number): Promise<void> {
  const accounts = app.get(Accounts);
  const calls = Array.from({ length: count }, () => accounts[order](id, 1));
  const results = await Promise.allSettled(calls);
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  emit('done', { id, failures });
}

serve({
  start: (order: Order, id: string, count: number) => void bookAll(order, id, count),
  stop: async () => {
    await app.close();
    await pool.end();
  },
});
