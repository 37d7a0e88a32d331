import { createConnection } from 'node:net';
import { StoreProcess } from './store-process.js';

function programOf(store: 'REDIS' | 'ETCD'): string {
  const program = process.env[`KLOCK_BENCH_${store}`];
  if (program !== undefined) return program;
  throw new Error(process.env[`KLOCK_BENCH_${store}_ERROR`] ?? `KLOCK_BENCH_${store} names no program`);
}

/** A Redis without persistence. */
export function startRedis(): Promise<StoreProcess> {
  return StoreProcess.start(programOf('REDIS'), (port, folder) =>
    [
      ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'],
    ].flat(),
  );
}

/** An etcd of one member with its data on disk. */
export function startEtcd(): Promise<StoreProcess> {
  return StoreProcess.start(programOf('ETCD'), (port, folder) =>
    [
      ['--name', 'bench', '--data-dir', folder, '--log-level', 'error', '--logger', 'zap'],
      ['--listen-client-urls', `http://127.0.0.1:${port}`],
      ['--advertise-client-urls', `http://127.0.0.1:${port}`],
      ['--listen-peer-urls', 'http://127.0.0.1:0', '--initial-advertise-peer-urls', 'http://127.0.0.1:0'],
      ['--initial-cluster', 'bench=http://127.0.0.1:0'],
    ].flat(),
  );
}

/** Commands a Redis has carried out, those inside scripts included, but for the question itself. */
export function commandsOf(address: string): Promise<number> {
  const [host, port] = address.split(':') as [string, string];
  return new Promise((resolve, reject) => {
    const socket = createConnection(Number(port), host, () => socket.write('INFO stats\r\n'));
    let text = '';
    socket.once('error', reject);
    socket.on('data', (chunk) => {
      text += chunk.toString();
      const [, count] = /total_commands_processed:(\d+)/.exec(text) ?? [];
      if (count === undefined) return;
      socket.destroy();
      resolve(Number(count));
    });
  });
}
