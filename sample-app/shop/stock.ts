import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectKlock, StaleFenceError, type Klock } from 'klock';
import type { PoolClient } from 'pg';
import { Database } from './database.js';

/** What the database knows of an item. */
export interface ItemReport {
  readonly item: string;
  readonly left: number;
  /** Sum of all bookings since the stock was last set. */
  readonly booked: number;
  /** The largest fence that has written, as a decimal string. */
  readonly fence: string;
}

const TABLES = `
  CREATE SCHEMA IF NOT EXISTS klock_sample;
  CREATE TABLE IF NOT EXISTS klock_sample.stock (
    item text PRIMARY KEY,
    remaining integer NOT NULL CHECK (remaining >= 0),
    fence bigint NOT NULL DEFAULT 0
  );
  CREATE TABLE IF NOT EXISTS klock_sample.booking (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item text NOT NULL REFERENCES klock_sample.stock,
    quantity integer NOT NULL
  );`;

/**
 * The stock in PostgreSQL. A write that runs under a lock carries the lock's fence, and the row remembers the largest
 * one it has seen: a holder that was overtaken while it slept changes nothing any more, whatever it believes.
 */
@Injectable()
export class Stock implements OnModuleInit {
  constructor(
    private readonly database: Database,
    @InjectKlock() private readonly klock: Klock,
  ) {}

  /** Several replicas start at once, and PostgreSQL's IF NOT EXISTS is not made for that. */
  async onModuleInit(): Promise<void> {
    await this.klock.withLock('shop', () => this.database.rows(TABLES));
  }

  async remaining(item: string): Promise<number> {
    const text = 'SELECT remaining FROM klock_sample.stock WHERE item = $1';
    const [row] = await this.database.rows<{ remaining: number }>(text, [item]);
    return row?.remaining ?? 0;
  }

  /** Writes what the caller worked out from an earlier read, and the booking with it. */
  async book(item: string, quantity: number, remaining: number, fence: bigint | undefined): Promise<void> {
    await this.database.transaction(async (client) => {
      await this.write(client, item, remaining, fence);
      const text = 'INSERT INTO klock_sample.booking (item, quantity) VALUES ($1, $2)';
      await client.query(text, [item, quantity]);
    });
  }

  /** Sets the stock and forgets earlier bookings; the fence stays, since it only ever rises. */
  async reset(item: string, remaining: number, fence: bigint): Promise<void> {
    await this.database.transaction(async (client) => {
      const row = 'INSERT INTO klock_sample.stock (item, remaining) VALUES ($1, 0) ON CONFLICT DO NOTHING';
      await client.query(row, [item]);
      await this.write(client, item, remaining, fence);
      await client.query('DELETE FROM klock_sample.booking WHERE item = $1', [item]);
    });
  }

  async report(item: string): Promise<ItemReport | undefined> {
    const text = `
      SELECT item, remaining AS "left", fence::text,
        (SELECT coalesce(sum(quantity), 0)::integer FROM klock_sample.booking b WHERE b.item = s.item) AS booked
      FROM klock_sample.stock s WHERE item = $1`;
    const [row] = await this.database.rows<{ item: string; left: number; fence: string; booked: number }>(
      text,
      [item],
    );
    return row;
  }

  private async write(
    client: PoolClient,
    item: string,
    remaining: number,
    fence: bigint | undefined,
  ): Promise<void> {
    if (fence === undefined) {
      await client.query('UPDATE klock_sample.stock SET remaining = $2 WHERE item = $1', [item, remaining]);
      return;
    }
    const text = 'UPDATE klock_sample.stock SET remaining = $2, fence = $3 WHERE item = $1 AND fence <= $3';
    const { rowCount } = await client.query(text, [item, remaining, fence.toString()]);
    if (rowCount === 0) throw await this.stale(client, item, fence);
  }

  private async stale(client: PoolClient, item: string, fence: bigint): Promise<StaleFenceError> {
    const text = 'SELECT fence::text FROM klock_sample.stock WHERE item = $1';
    const { rows } = await client.query<{ fence: string }>(text, [item]);
    const seen = rows[0] === undefined ? undefined : BigInt(rows[0].fence);
    return new StaleFenceError(`stock of ${item} was written with fence ${seen} since; ${fence} is too old`, {
      fence,
      seen,
    });
  }
}
