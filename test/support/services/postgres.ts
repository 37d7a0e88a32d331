import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../free-ports.js';
import { OwnedProcess } from '../owned-process.js';
import { dataFolder, startStore, type StoreProcess } from './store.js';
import { storeProgram } from './store-program.js';

export interface PostgresServer extends StoreProcess {
  /** Superuser `postgres`, database `postgres`, no password. */
  readonly url: string;
}

/** A PostgreSQL of its own. Run by root it becomes `nobody`, since PostgreSQL refuses uid 0. */
export async function startPostgres(): Promise<PostgresServer> {
  const program = await storeProgram('postgres');
  const owner = process.getuid?.() === 0 ? nobody() : undefined;
  const port = await freePort();
  const folder = dataFolder('postgres', owner);
  const data = join(folder, 'data');
  const initdb = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await promisify(execFile)(join(dirname(program), 'initdb'), initdb, { cwd: folder, ...owner });
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const store = await startStore({
    port,
    folder,
    launch: () =>
      OwnedProcess.start(program, ['-D', data, '-p', String(port), ...flags], { cwd: folder, ...owner }),
    probe: () => asksForPassword(port),
    // "immediate shutdown": unlike SIGKILL it gives shared memory back
    endSignal: 'SIGQUIT',
  });
  return Object.assign(store, { url: `postgres://postgres@127.0.0.1:${port}/postgres` });
}

function nobody(): { uid: number; gid: number } {
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  if (!line) throw new Error('PostgreSQL refuses to run as root, and there is no user `nobody` to run it as');
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

/** Sends a startup message; `R` (authentication) is the answer of a server that takes connections. */
function asksForPassword(port: number): Promise<boolean> {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + parameters.length, 0);
  head.writeInt32BE(196_608, 4); // protocol 3.0
  return new Promise((resolve, reject) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write(Buffer.concat([head, parameters])));
    socket.setTimeout(1_000, () => socket.destroy(new Error('no answer in 1 s')));
    socket.once('error', reject);
    socket.once('close', () => resolve(false));
    socket.once('data', (answer) => {
      resolve(answer[0] === 'R'.charCodeAt(0));
      socket.end(Buffer.from([0x58, 0, 0, 0, 4])); // terminate
      socket.destroySoon();
    });
  });
}
