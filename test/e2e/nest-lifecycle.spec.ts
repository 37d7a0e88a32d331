import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { lastValueFrom } from 'rxjs';
import { LockServer } from 'klock/server';
import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { freePort } from '../support/free-ports.js';
import { sleep, until } from './nest-support.js';

type Kind = 'http' | 'microservice' | 'hybrid';
const SCRIPT = 'test/e2e/nest-lifecycle.child.ts';

describe('a process that is told to stop by SIGTERM', () => {
  let server: LockServer;
  const children: Child[] = [];
  beforeAll(async () => {
    server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.kill()));
  });
  afterAll(() => server.close());

  const start = async (
    kind: Kind,
    hooks: 'hooks' | 'plain',
    graceMs = 10_000,
  ): Promise<{ child: Child; port: number }> => {
    const port = await freePort();
    const args = [kind, hooks, `klock://${server.address}`, String(graceMs)];
    const child = await startCompiled(SCRIPT, { args, env: { KLOCK_TEST_PORT: String(port) } });
    children.push(child);
    return { child, port };
  };

  /** Sends one piece of work by every way the application has; returns what became of each. */
  const send = async (kind: Kind, child: Child, port: number): Promise<Promise<string>[]> => {
    const answers: Promise<string>[] = [];
    if (kind !== 'microservice') {
      const url = await child.call<string>('url');
      answers.push(fetch(`${url}/work`).then((response) => response.text()));
    }
    if (kind !== 'http') {
      const client: ClientProxy = ClientProxyFactory.create({
        transport: Transport.TCP,
        options: { host: '127.0.0.1', port },
      });
      // A microservice stops listening first, so its caller may see the connection end instead of an answer.
      answers.push(lastValueFrom(client.send<string>('work', {})).catch(() => 'connection ended'));
    }
    return answers;
  };

  it.each<[Kind, number, string[]]>([
    ['http', 1, ['done']],
    ['microservice', 1, ['connection ended', 'done']],
    ['hybrid', 2, ['connection ended', 'done']],
  ])(
    '[B-066] ends its work under its locks, frees them and only then goes: %s',
    async (kind, works, allowed) => {
      const { child, port } = await start(kind, 'hooks');
      const answers = await send(kind, child, port);
      await until('inside', () => child.events.filter(({ event }) => event === 'inside').length === works);
      expect(server.stats.locks).toBe(works);
      const ended = await child.kill('SIGTERM');
      // Nest ends the process by the signal itself once its hooks are through.
      expect(ended.signal).toBe('SIGTERM');
      const finished = child.events.filter(({ event }) => event === 'finished').map(({ data }) => data);
      expect(finished).toEqual(Array(works).fill(true));
      expect(server.stats).toMatchObject({ locks: 0, sessions: 0 });
      for (const answer of await Promise.all(answers)) expect(allowed).toContain(answer);
    },
    30_000,
  );

  it('[B-066] waits no longer than graceMs, and reports what it abandoned', async () => {
    const { child } = await start('http', 'hooks', 300);
    await child.call('endless');
    await child.event('inside');
    const stopped = performance.now();
    await child.kill('SIGTERM');
    expect(performance.now() - stopped).toBeLessThan(300 + 1_000 + 700);
    const lines = child.events.filter(({ event }) => event === 'log').map(({ data }) => data);
    expect(lines).toContainEqual(
      expect.stringMatching(/1 lock was taken from work that still held them: "endless" \(for \d+ ms\)/),
    );
    expect(server.stats.locks).toBe(0);
  }, 30_000);

  it('[B-066] without shutdown hooks was warned of it, has no listener of ours, and ends normally', async () => {
    const { child } = await start('http', 'plain');
    expect(await child.call('listeners')).toBe(0);
    await child.event('log', (line) => String(line).includes('enableShutdownHooks()'));
    await sleep(1_200);
    const told = child.events.filter(({ data }) => String(data).includes('enableShutdownHooks()'));
    expect(told).toHaveLength(1);
    expect((await child.kill('SIGTERM')).signal).toBe('SIGTERM');
    await until('free', () => server.stats.sessions === 0);
  }, 30_000);

  it('[B-066] with hooks is not warned', async () => {
    const { child } = await start('hybrid', 'hooks');
    await sleep(1_300);
    expect(child.events.filter(({ event }) => event === 'log')).toEqual([]);
    await child.kill('SIGTERM');
  }, 30_000);
});
