// A lock server in a process of its own, for test/support/lock-server.ts.
import { runServer } from 'klock/server';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { emit, serve } from './child-side.mjs';

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc');

for (const kind of ['uncaughtException', 'unhandledRejection']) {
  process.on(kind, (error) => emit('uncaught', String(error?.stack ?? error)));
}

const log = { enabled: () => true, write: (level, event, facts) => emit('log', { level, event, ...facts }) };
const server = await runServer({ ...JSON.parse(process.env.KLOCK_TEST_SERVER), log });

serve({
  facts: () => ({ address: server.address, port: server.port, serverId: server.serverId }),
  stats: () => server.stats,
  counters: () => server.counters,
  condition: () => server.condition,
  heap: () => {
    collect();
    return process.memoryUsage().heapUsed;
  },
});
