import { transformSync } from '@swc/core';
import { fork, type ChildProcess } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { keysFor } from '../../bench/loads/keys.js';
import { forgetPid, reapFolder, reapPid } from '../support/reaper.js';

/** Below the repository, so that `klock` resolves to dist/ as it does for a real run. */
const FOLDER = join(process.cwd(), '.build', `bench-${process.pid}`);

/** As `npm run bench` does before it starts. */
function transformBench(): void {
  reapFolder(FOLDER);
  const sources = readdirSync('bench', { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.ts') && !file.startsWith('peers'));
  for (const file of sources) {
    const target = join(FOLDER, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    const { code } = transformSync(readFileSync(join('bench', file), 'utf8'), {
      jsc: { parser: { syntax: 'typescript', decorators: true }, target: 'es2022', keepClassNames: true },
      module: { type: 'es6' },
      swcrc: false,
    });
    writeFileSync(target, code);
  }
}

/** One process of one lock, as the benchmark measures it. */
class Measured {
  private readonly child: ChildProcess;
  private calls = 0;

  constructor() {
    this.child = fork(join(FOLDER, 'in-process-child.js'), { execArgv: [] });
    if (this.child.pid !== undefined) reapPid(this.child.pid);
  }

  call(name: string, ...args: readonly unknown[]): Promise<unknown> {
    const id = ++this.calls;
    return new Promise((resolve, reject) => {
      const read = (answer: { id: number; result?: unknown; error?: string }): void => {
        if (answer.id !== id) return;
        this.child.off('message', read);
        if (answer.error === undefined) resolve(answer.result);
        else reject(new Error(answer.error));
      };
      this.child.on('message', read);
      this.child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
      this.child.send({ id, name, args });
    });
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.child.once('exit', () => {
        if (this.child.pid !== undefined) forgetPid(this.child.pid);
        resolve();
      });
      this.child.disconnect();
    });
  }
}

describe('the benchmark suite', () => {
  beforeAll(transformBench);

  it.each(['two-level-lock', 'memory-driver'])(
    '[K-024] measures %s on one hot key, on 1,024 keys, and where 5 % and 20 % ask for a whole L1',
    async (name) => {
      const measured = new Measured();
      expect(await measured.call('open', name)).toContain('klock');
      for (const which of ['together', 'keys1024', 'mix5', 'mix20']) {
        const nanoseconds = await measured.call('measure', which, 20);
        expect([which, Number.isFinite(nanoseconds), Number(nanoseconds) > 0]).toEqual([which, true, true]);
      }
      await measured.close();
    },
    60_000,
  );

  it.each([
    ['mix5', 0.05],
    ['mix20', 0.2],
  ] as const)('[K-024] in %s the share of asked-for L1s is %d, of every worker', (plan, share) => {
    for (const worker of [0, 7, 63]) {
      const nextKey = keysFor(plan, worker, 64);
      const keys = Array.from({ length: 20_000 }, () => nextKey());
      expect(Math.abs(keys.filter((key) => key.length === 1).length / keys.length - share)).toBeLessThan(
        0.01,
      );
    }
  });
});
