import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-ports.js';
import { OwnedProcess } from '../support/owned-process.js';
import { forgetPid, reapFolder, reapPid } from '../support/reaper.js';

const DEMO = 'dist/sample-app/demo/main.js';
const UP = 'Everything stays up';
const START_WITHIN_MS = 60_000;

interface Part {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

/** The processes that the demonstration says it runs. */
function partsIn(log: string): Part[] {
  return [...log.matchAll(/^ {2}(\S.*?) +(\w+:\/\/\S+) \(process (\d+)\)$/gm)].map((match) => ({
    name: match[1]!,
    url: match[2]!,
    pid: Number(match[3]),
  }));
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function survivors(parts: readonly Part[]): Promise<string[]> {
  for (const until = performance.now() + 15_000; performance.now() < until; await sleep(50)) {
    if (!parts.some((part) => lives(part.pid))) break;
  }
  return parts.filter((part) => lives(part.pid)).map((part) => part.name);
}

describe('the sample application', () => {
  let demo: OwnedProcess;
  let parts: Part[] = [];

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): OwnedProcess {
    if (!existsSync(DEMO)) throw new Error('dist/ is not built: run `npm run build`');
    const { PORT: _port, DATABASE_URL: _url, KLOCK_TTL_MS: _ttl, ...inherited } = process.env;
    // a demonstration that is killed cannot clean up after itself
    const folder = mkdtempSync(join(tmpdir(), 'klock-sample-test-'));
    reapFolder(folder);
    demo = OwnedProcess.start(process.execPath, [DEMO, ...args], {
      env: { ...inherited, TMPDIR: folder, ...env },
    });
    return demo;
  }

  /** Everything runs, without the demonstration. */
  async function up(env?: Readonly<Record<string, string>>): Promise<OwnedProcess> {
    start(['--up'], env);
    await demo.ready(() => Promise.resolve(demo.log.includes(UP)), START_WITHIN_MS);
    parts = partsIn(demo.log);
    // should a test fail, nothing of it may outlive the tests
    for (const part of parts) reapPid(part.pid);
    return demo;
  }

  const part = (name: string): Part => {
    const found = parts.find((candidate) => candidate.name === name);
    if (found === undefined) throw new Error(`no ${name} in:\n${demo.log}`);
    return found;
  };

  const book = (replica: string, body: object): Promise<Response> =>
    fetch(`${part(replica).url}/bookings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  afterEach(async () => {
    await demo.kill('SIGTERM');
    for (const { pid } of parts) forgetPid(pid);
    parts = [];
  });

  it('shows exact stock with the lock and oversold without, and ends with 0 and without a process left', async () => {
    start(['--once']);
    const { code } = await demo.ended;
    parts = partsIn(demo.log);
    expect({ code, log: demo.log }).toMatchObject({
      code: 0,
      log: expect.stringContaining('were true.') as string,
    });
    expect(demo.log).not.toContain('NOT TRUE');
    expect(demo.log).toContain('✓ exactly 50 of 200 were booked, the other 150 were told "sold out"');
    expect(demo.log).toContain('✓ the database agrees: 50 booked, 0 left');
    expect(Number(/✓ .* oversold by (\d+)/.exec(demo.log)?.[1])).toBeGreaterThan(0);
    expect(demo.log).toMatch(/✓ the next booking waited [\d,]+ ms: at most the lease of 2,000 ms/);
    expect(demo.log).toMatch(/✓ the late write .* was refused by the database: HTTP 409, STALE_FENCE/);
    expect(parts.map(({ name }) => name)).toEqual(['database', 'lock server', 'replica A', 'replica B']);
    const [again] = [...demo.log.matchAll(/started again \(process (\d+)\)/g)].map((match) =>
      Number(match[1]),
    );
    expect(again).toBeGreaterThan(0);
    expect(await survivors([...parts, { name: 'replica B, second', url: '', pid: again! }])).toEqual([]);
  }, 180_000);

  it('answers at PORT and the next while it stays up, and ends everything with 0 on SIGTERM', async () => {
    const port = await freePort();
    const first = await up({ PORT: String(port) });
    expect(part('replica A').url).toBe(`http://127.0.0.1:${port}`);
    expect(part('replica B').url).toBe(`http://127.0.0.1:${port + 1}`);
    const json = { 'content-type': 'application/json' };
    const body = JSON.stringify({ left: 1 });
    await fetch(`${part('replica A').url}/stock/chair`, { method: 'PUT', headers: json, body });
    const sold = await book('replica A', { item: 'chair' });
    expect(sold.status).toBe(201);
    expect(sold.headers.get('Klock-Fence')).toMatch(/^\d+; key="shop\/item:chair"; store="/);
    expect((await book('replica B', { item: 'chair' })).status).toBe(409);
    const wrong = await book('replica B', { item: 'a chair' });
    expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('a chair')]);

    const second = start(['--up'], { PORT: String(port), DATABASE_URL: part('database').url });
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.log).toContain('the port is taken. Choose another with PORT=');
    expect(partsIn(second.log)).toEqual([]);

    expect(await first.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await survivors(parts)).toEqual([]);
  }, 120_000);

  it('ends everything with 1 and says who, when one of its processes dies', async () => {
    await up();
    process.kill(part('lock server').pid, 'SIGKILL');
    expect(await demo.ended).toEqual({ code: 1, signal: null });
    expect(demo.log).toContain('lock server ended by itself (SIGKILL)');
    expect(await survivors(parts)).toEqual([]);
  }, 120_000);

  it('leaves no process behind when it is killed itself', async () => {
    await up();
    // the process alone: its children shall notice by themselves
    demo.signal('SIGKILL');
    await demo.ended;
    expect(await survivors(parts)).toEqual([]);
  }, 120_000);

  it.each([
    ['--help', 0, 'npm start -- --once'],
    ['--onec', 1, 'npm start knows no --onec'],
  ])('answers %s with %i and how it is used, before anything is installed', async (word, code, text) => {
    demo = OwnedProcess.start(process.execPath, ['sample-app/start.mjs', word]);
    expect(await demo.ended).toEqual({ code, signal: null });
    expect(demo.log).toContain(text);
  });
});
