import { createConnection } from 'node:net';
import { freePort } from '../free-ports.js';
import { OwnedProcess } from '../owned-process.js';
import { dataFolder, startStore, type StoreProcess } from './store.js';
import { storeProgram } from './store-program.js';

export interface RedisOptions {
  /** More arguments of redis-server, such as `['--appendonly', 'yes']`: without it a restart loses all data. */
  readonly args?: readonly string[];
}

export interface RedisServer extends StoreProcess {
  readonly url: string;
}

/** A Redis of its own, without persistence unless asked for. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const program = await storeProgram('redis');
  const port = await freePort();
  const folder = dataFolder('redis');
  const args = [
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
    ['--save', '', '--appendonly', 'no'],
    options.args ?? [],
  ].flat();
  const store = await startStore({
    port,
    folder,
    launch: () => OwnedProcess.start(program, args, { cwd: folder }),
    probe: () => answersPing(port),
  });
  return Object.assign(store, { url: `redis://127.0.0.1:${port}` });
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(500, () => socket.destroy(new Error('no answer in 500 ms')));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      // not yet while it answers -LOADING
      resolve(answer.toString().startsWith('+PONG'));
    });
  });
}
