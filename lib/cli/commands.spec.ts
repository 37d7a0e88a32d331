import { LockServer, type ServerOptions } from '../server/index.js';
import { systemClock, systemRandom } from '../core/index.js';
import { runCli } from './cli.js';

describe('klock on the command line', () => {
  const servers: LockServer[] = [];
  let printed: string[] = [];

  afterEach(async () => {
    printed = [];
    await Promise.all(servers.splice(0).map((server) => server.close({ graceMs: 0 })));
  });

  async function serve(options: ServerOptions = {}): Promise<string> {
    const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false, ...options });
    servers.push(server);
    await server.start();
    return `grpc://${server.address}`;
  }

  function run(...words: string[]): Promise<number> {
    const print = (line: string): void => void printed.push(...line.split('\n'));
    return runCli(words, { clock: systemClock, random: systemRandom, print });
  }

  it('[K-205] bench drives workers over a key space for a while and tells what came of it', async () => {
    const addr = await serve();
    const startedMs = performance.now();
    const code = await run(
      'bench',
      '--addr',
      addr,
      '--concurrency',
      '4',
      '--duration',
      '300ms',
      '--keyspace',
      '8',
    );
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(300);
    expect({ code, printed }).toMatchObject({ code: 0 });
    expect(printed[0]).toContain('4 workers');
    expect(Number(/^success +(\d+)$/m.exec(printed.join('\n'))?.[1])).toBeGreaterThan(0);
    for (const word of ['errors       0', 'error rate   0.00 %', 'throughput', 'avg', 'p50', 'p95', 'p99']) {
      expect(printed.join('\n')).toContain(word);
    }
    // every worker had a client of its own, and all have gone
    expect(servers[0]!.stats.sessions).toBe(0);
  });

  it('[K-205] bench names the first error and ends with 1 when nothing succeeded', async () => {
    const addr = await serve({ authToken: 'right' });
    const code = await run(
      'bench',
      '--addr',
      addr,
      '--token',
      'wrong',
      '--concurrency',
      '1',
      '--duration',
      '100ms',
    );
    expect(code).toBe(1);
    expect(printed.join('\n')).toMatch(/^success +0$/m);
    expect(printed.join('\n')).toMatch(/^first error +BACKEND_MISCONFIGURED: /m);
  });

  it('[K-206] demo shows S1 to S5 on a live server and ends with 0', async () => {
    const code = await run('demo', '--addr', await serve());
    expect(printed.filter((line) => line.startsWith('FAILED'))).toEqual([]);
    expect(code).toBe(0);
    for (const scenario of ['S1', 'S2', 'S3', 'S4', 'S5']) {
      expect(printed).toContainEqual(expect.stringMatching(`^ok +${scenario} `));
    }
  });

  it('[K-206] demo knocks with a wrong token at a server that asks for one', async () => {
    const addr = await serve({ authToken: 'right' });
    expect(await run('demo', '--addr', addr, '--token', 'right')).toBe(0);
    expect(printed).toContainEqual(
      expect.stringContaining('a wrong token of the server: BACKEND_MISCONFIGURED'),
    );
  });

  it('[K-206] demo ends with 1 at the first failure and shows nothing after it', async () => {
    const addr = await serve({ authToken: 'right' });
    expect(await run('demo', '--addr', addr, '--token', 'wrong')).toBe(1);
    expect(printed).toHaveLength(1);
    expect(printed[0]).toMatch(/^FAILED {2}the server answers: misconfigured after 4 tries/);
  }, 20_000);

  it.each([
    [['bench', '--keyspace', '0'], '--keyspace must be'],
    [['bench', '--addr', 'ftp://x'], 'url'],
    [['demo', '--other'], 'unknown word'],
    [['lock'], 'There is no command lock.'],
  ])('ends with 2 and says why for %j', async (words, message) => {
    expect(await run(...words)).toBe(2);
    expect(printed.join('\n')).toContain(message);
  });

  it.each([[[]], [['--help']], [['bench', '--help']], [['demo', '-h']]])('helps for %j', async (words) => {
    expect(await run(...words)).toBe(0);
    expect(printed.join('\n')).toMatch(/klock (bench|demo)/);
  });
});
