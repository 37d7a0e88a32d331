import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Pool, type PoolClient, type QueryResultRow } from 'pg';
import { requiredText } from '../process/environment.js';

const CONNECTIONS = 8;

/** The replica's connections to PostgreSQL. */
@Injectable()
export class Database implements OnApplicationShutdown {
  private readonly logger = new Logger(Database.name);
  private readonly pool = new Pool({
    connectionString: requiredText(process.env, 'DATABASE_URL'),
    max: CONNECTIONS,
  });

  constructor() {
    // Without a listener the loss of an idle connection would end the process.
    this.pool.on('error', (error) => this.logger.warn(`lost a connection: ${error.message}`));
  }

  /**
   * A transaction even for one statement: the embedded database answers all connections through one session, and only
   * a transaction keeps the parts of a statement with values together there.
   */
  rows<Row extends QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.transaction(async (client) => (await client.query<Row>(text, [...values])).rows);
  }

  /** All or nothing: an error of `work` undoes what it did. */
  async transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }

  /** After Nest has ended the requests still running: they need the connections. */
  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}
