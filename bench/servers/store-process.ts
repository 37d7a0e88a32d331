import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const READY_WITHIN_MS = 15_000;

/** Redis or etcd on a port of 127.0.0.1, with data of its own that goes with it. */
export class StoreProcess {
  private log = '';
  private over = false;

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly port: number,
  ) {
    const keep = (chunk: Buffer): void => void (this.log = (this.log + chunk.toString()).slice(-2_000));
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
    child.once('exit', () => (this.over = true));
    child.once('error', (error) => {
      this.over = true;
      this.log += String(error);
    });
  }

  /** @throws Error with what the program said when it is not ready in time. */
  static async start(
    program: string,
    args: (port: number, folder: string) => string[],
  ): Promise<StoreProcess> {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'klock-bench-'));
    const child = spawn(program, args(port, folder), { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    const store = new StoreProcess(child, folder, port);
    process.once('exit', () => store.stop());
    await store.listening();
    return store;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  stop(): void {
    this.child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async listening(): Promise<void> {
    for (const until = performance.now() + READY_WITHIN_MS; performance.now() < until; await sleep(20)) {
      if (this.over) break;
      if (await accepts(this.port)) return;
    }
    throw new Error(`${this.child.spawnfile} did not start: ${this.log.trim().split('\n').at(-1)}`);
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1');
    const end = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
