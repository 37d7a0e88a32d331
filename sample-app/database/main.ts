import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { reportReady } from '../process/parent.js';

// An embedded PostgreSQL has one owner. It runs here alone, in memory, and the replicas reach it like any server.
const database = await PGlite.create();
const server = new PGLiteSocketServer({ db: database, host: '127.0.0.1', port: 0, maxConnections: 64 });
await server.start();

let ending = false;
async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await server.stop();
  await database.close();
  process.exit(0);
}
process.on('SIGTERM', () => void end());
process.on('SIGINT', () => void end());

reportReady(`postgres://postgres@${server.getServerConn()}/postgres`);
