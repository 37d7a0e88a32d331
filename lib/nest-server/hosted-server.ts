import type { LockDriver } from '../core/index.js';
import { MemoryDriver } from '../drivers/memory/index.js';
import { LockServer, type ServerOptions } from '../server/index.js';

/** A lock server inside an application, and the way of the application's own locks to it: no wire between. */
export interface HostedServer {
  readonly driver: LockDriver;
  readonly server: LockServer;
  /** Drains and stops in bounded time. Never rejects. */
  close(): Promise<void>;
}

/**
 * Starts the server.
 * @throws InvalidOptionError listing what is wrong with the options; BackendStateError where the address or the state
 * directory is taken.
 */
export async function openHostedServer(options: ServerOptions): Promise<HostedServer> {
  const server = new LockServer(options);
  await server.start();
  // With a state directory its fences rise across restarts, whoever is given them.
  const fence = options.stateDir === undefined ? 'process' : 'durable';
  const driver = new MemoryDriver(server.openLocalStore(), { fence });
  return { driver, server, close: () => server.close() };
}
