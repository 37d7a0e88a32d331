import { createServer } from 'node:net';

/**
 * Below the range from which the kernel takes ports for outgoing connections (32768 and up on Linux): a store
 * that is down for a moment finds its port still free when it comes back.
 */
const LOWEST = 12_000;
const HIGHEST = 32_000;
const given = new Set<number>();

/** `count` different ports of 127.0.0.1 on which nobody listened just now. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries += 1) {
    if (tries > 1_000) throw new Error('no free port found in 1000 tries');
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
