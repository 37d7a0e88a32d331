import { execFile } from 'node:child_process';
import { LockServerProcess } from '../support/lock-server.js';

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** The program that `npx klock` runs, from the build. */
function klock(...words: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['dist/esm/cli/main.js', ...words], (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}

describe('npx klock', () => {
  it('[K-205] [K-206] bench and demo work on a server in another process, and their exit codes are those of the process', async () => {
    const server = await LockServerProcess.start();
    const addr = `klock://${server.address}`;
    const bench = await klock('bench', '--addr', addr, '--concurrency', '2', '--duration', '200ms');
    expect(bench).toMatchObject({ code: 0, output: expect.stringContaining('throughput') as string });
    const demo = await klock('demo', '--addr', addr);
    expect(demo).toMatchObject({ code: 0, output: expect.stringContaining('All of it was true.') as string });
    await server.kill();
    expect(await klock('demo', '--addr', addr)).toMatchObject({ code: 1 });
  }, 60_000);

  it('ends with 2 for a command line it does not understand', async () => {
    expect(await klock('bench', '--keyspace', 'many')).toMatchObject({ code: 2 });
  });
});
