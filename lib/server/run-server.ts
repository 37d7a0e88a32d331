import { LockServer, type ServerEnd } from './lock-server.js';
import type { ServerOptions } from './server-options.js';

/** What `runServer` needs of the process it runs in. */
export interface ServerProcess {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs a server as the purpose of a process: the first SIGINT or SIGTERM drains and stops it, a second one ends the
 * process at once with exit code 1.
 * @returns the started server.
 * @throws what `LockServer` and its `start` throw; no signal is listened to then.
 */
export async function runServer(options: ServerOptions, host: ServerProcess = process): Promise<LockServer> {
  const server = new LockServer(options);
  await server.start();
  let stopping = false;
  const onSignal = (): void => {
    if (stopping) return host.exit(1);
    stopping = true;
    void server.close();
  };
  for (const signal of SIGNALS) host.on(signal, onSignal);
  void server.ended.then((end: ServerEnd) => {
    for (const signal of SIGNALS) host.off(signal, onSignal);
    host.exit(end === 'closed' ? 0 : 1);
  });
  return server;
}
