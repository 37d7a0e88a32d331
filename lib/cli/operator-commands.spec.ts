import { createKlock, systemClock, systemRandom, type KlockInstance } from '../core/index.js';
import { klockDriver } from '../drivers/klock/index.js';
import { LockServer, type ServerOptions } from '../server/index.js';
import { runCli } from './cli.js';
import { span } from './holder-table.js';
import { didYouMean } from './nearest.js';

describe('klock who and klock revoke', () => {
  let server: LockServer;
  let url: string;
  let holder: KlockInstance;
  let printed: string[];
  const logged: object[] = [];

  afterEach(async () => {
    await holder.close({ graceMs: 1 });
    await server.close({ graceMs: 0 });
  });

  async function serve(options: ServerOptions = {}, internals = {}): Promise<void> {
    logged.length = 0;
    const log = {
      enabled: () => true,
      write: (level: string, event: string, facts: object = {}) =>
        void logged.push({ level, event, ...facts }),
    };
    server = new LockServer({ address: '127.0.0.1:0', rateLimit: false, log, ...options }, internals);
    await server.start();
    url = `klock://${server.address}`;
    const authToken = options.authToken;
    holder = createKlock({
      driver: klockDriver({ url, ...(authToken && { authToken }) }),
      clientName: 'billing',
    });
  }

  function run(...words: string[]): Promise<number> {
    printed = [];
    const print = (line: string): void => void printed.push(...line.split('\n'));
    return runCli(words, { clock: systemClock, random: systemRandom, print });
  }

  const json = (): unknown => JSON.parse(printed.join('\n'));

  it('[B-081] who lists every holder with label, host, since and fence, the longest held first', async () => {
    await serve();
    expect(await run('who', url)).toBe(0);
    expect(printed).toEqual(['Nobody holds anything.']);
    const first = await holder.acquire(['orders', 'o 1']);
    await holder.acquire('nightly');
    expect(await run('who', url)).toBe(0);
    const [head, ...rows] = printed;
    expect(head).toMatch(/^KEY +HOLDER +HOST +SINCE +FOR +FENCE +WAITING$/);
    expect(rows).toHaveLength(2);
    const since = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
    const line = `^"orders" / "o 1" +billing +\\S+:${process.pid} +${since} +\\d+m?s +${first.fence} +0$`;
    expect(rows[0]).toMatch(new RegExp(line));
    expect(rows[1]).toMatch(/^"nightly" +billing /);
  });

  it('[B-081] who lists more than one page, and no more than its limit', async () => {
    await serve();
    for (let at = 0; at < 230; at++) await holder.acquire(`key-${at}`);
    expect(await run('who', url, '--json')).toBe(0);
    const { holders, more } = json() as { holders: { key: string[]; fence: string }[]; more: boolean };
    expect([holders.map(({ key }) => key[0]), more]).toEqual([
      Array.from({ length: 230 }, (_, at) => `key-${at}`),
      false,
    ]);
    expect(await run('who', url, '--limit', '120')).toBe(0);
    expect([printed.length, printed.at(-1)]).toEqual([122, '... and more; --limit 120 is reached.']);
  });

  it('[B-081] who with a key tells holders, waiters and what conflicts with it', async () => {
    await serve();
    await holder.acquire(['orders', '1'], { metadata: { job: '7' } });
    const waiter = createKlock({ driver: klockDriver({ url }), clientName: 'reports' });
    const waiting = waiter.acquire('orders', { waitMs: 20_000 });
    waiting.catch(() => undefined);
    while ((await holder.inspect('orders')).waiterCount === 0);
    expect(await run('who', url, 'orders')).toBe(0);
    expect(printed).toHaveLength(3);
    expect(printed[1]).toMatch(/^"orders" \/ "1" +billing .* 1$/);
    expect(printed[2]).toMatch(/^waits for "orders": reports, for /);
    expect(await run('who', url, 'orders', '1', '--json')).toBe(0);
    expect(json()).toMatchObject({
      key: ['orders', '1'],
      holders: [
        { client: 'billing', metadata: { job: '7' }, fence: expect.stringMatching(/^\d+$/) as string },
      ],
    });
    expect(await run('who', url, 'nobody')).toBe(0);
    expect(printed).toEqual(['Nobody holds "nobody".']);
    await waiter.close({ graceMs: 1 });
  });

  it('[B-081] revoke ends the grant of a fence, says who held, and ends with 3 when repeated', async () => {
    await serve();
    const lock = await holder.acquire(['orders', '1']);
    const words = ['revoke', url, 'orders', '1', '--fence', String(lock.fence)];
    expect(await run(...words)).toBe(0);
    const said = `^revoked "orders" / "1", held for .+ under fence ${lock.fence} by billing on \\S+:${process.pid}$`;
    expect(printed).toEqual([expect.stringMatching(new RegExp(said))]);
    expect(await lock.done).toMatchObject({ end: 'lost', reason: 'revoked', code: 'REVOKED' });
    expect(await run(...words)).toBe(3);
    expect(printed[0]).toBe(
      `Nothing was held of "orders" / "1" under fence ${lock.fence}; klock who shows who holds it.`,
    );
    expect(logged).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        event: 'lock_revoked',
        key: '"orders" / "1"',
        fence: String(lock.fence),
        by: expect.stringMatching(/^klock-cli .+@.+ at 127\.0\.0\.1:\d+$/) as string,
      }),
    );
    expect(server.counters.locks_revoked).toBe(1);
  });

  it('[B-081] revoke without below leaves what is held below, with it everything goes', async () => {
    await serve();
    await holder.acquire(['orders', '1']);
    await holder.acquire(['orders', '2']);
    expect(await run('revoke', url, 'orders')).toBe(3);
    expect(await run('revoke', url, 'orders', '--below', '--json')).toBe(0);
    expect(json()).toMatchObject({
      endedCount: 2,
      ended: [{ key: ['orders', '1'] }, { key: ['orders', '2'] }],
    });
    expect(server.stats.locks).toBe(0);
  });

  it.each([
    ['nobody', false],
    ['whom the rule names', ({ key }: { readonly key: readonly string[] }) => key[0] === 'mine'],
    [
      'nobody where the rule throws',
      () => {
        throw new Error('no such department');
      },
    ],
  ])('[B-081] the server lets %s revoke where mayRevoke says so', async (_, mayRevoke) => {
    await serve({ mayRevoke });
    const lock = await holder.acquire('theirs');
    await holder.acquire('mine');
    expect(await run('revoke', url, 'theirs')).toBe(1);
    expect(printed[0]).toMatch(/^BACKEND_MISCONFIGURED: .*FORBIDDEN/);
    expect(lock.held).toBe(true);
    expect(logged).toContainEqual(
      expect.objectContaining({ event: 'revoke_forbidden', key: 'lock "theirs"' }),
    );
    expect(await run('revoke', url, 'mine')).toBe(
      typeof mayRevoke === 'function' && mayRevoke.length > 0 ? 0 : 1,
    );
  });

  it('[B-081] both need the token the server asks for, and nothing without it is ended', async () => {
    await serve({ authToken: 'right' });
    const lock = await holder.acquire('k');
    for (const command of ['who', 'revoke']) {
      expect(await run(command, url, 'k')).toBe(1);
      expect(printed[0]).toMatch(/^BACKEND_MISCONFIGURED: .*UNAUTHENTICATED/);
    }
    expect(lock.held).toBe(true);
    expect(await run('revoke', url, 'k', '--token', 'right')).toBe(0);
  });

  it('[B-081] a server that is too old is called that', async () => {
    await serve({}, { channel: false });
    expect(await run('revoke', url, 'k')).toBe(1);
    expect(printed[0]).toMatch(/^BACKEND_MISCONFIGURED: the lock server is too old to revoke/);
    expect(await run('who', url)).toBe(1);
    expect(printed[0]).toMatch(/^BACKEND_MISCONFIGURED: the lock server is too old to list holders/);
  });

  it('ends with 1 and one line where nobody answers', async () => {
    await serve();
    await server.close({ graceMs: 0 });
    expect(await run('who', url)).toBe(1);
    expect(printed).toEqual([expect.stringMatching(/^LOCK_UNAVAILABLE: /)]);
    expect(await run('revoke', url, 'k')).toBe(1);
    expect(printed).toEqual([expect.stringMatching(/^LOCK_UNAVAILABLE: /)]);
  });
});

describe('a command line for operators that is wrong', () => {
  it.each([
    [['who'], 'the address of the server is needed'],
    [['revoke', 'klock://a:1'], 'a key is needed'],
    [['revoke', 'klock://a:1', 'a', 'b', 'c'], 'at most two parts, not 3'],
    [['revoke', 'klock://a:1', 'a', '--fense', '7'], 'unknown word "--fense". Did you mean fence?'],
    [
      ['revoke', 'klock://a:1', 'a', '--fence', '0'],
      '--fence must be a whole number from 1 to 9223372036854775807',
    ],
    [['revoke', 'klock://a:1', 'a', 'b', '--below'], 'below must be left out with a key of two parts'],
    [['revoke', 'klock://a:1', ''], 'key segment l1 must not be empty'],
    [['who', 'http://a'], 'url'],
    [['revok', 'klock://a:1'], 'There is no command revok. Did you mean revoke?'],
  ])('[B-081] ends with 2 and says why: %j', async (words, message) => {
    const printed: string[] = [];
    const print = (line: string): void => void printed.push(line);
    expect(await runCli(words, { clock: systemClock, random: systemRandom, print })).toBe(2);
    expect(printed.join('\n')).toContain(message);
  });

  it.each(['who', 'revoke'])(
    '[B-081] klock %s --help tells its words, flags and exit codes',
    async (command) => {
      const printed: string[] = [];
      const print = (line: string): void => void printed.push(line);
      expect(await runCli([command, '--help'], { clock: systemClock, random: systemRandom, print })).toBe(0);
      for (const part of [`klock ${command} URL`, '--json', 'Exit codes: 0'])
        expect(printed.join('\n')).toContain(part);
    },
  );

  it('words that are far from every known one are not guessed', () => {
    expect([didYouMean('unlock', ['who', 'revoke']), didYouMean('wo', ['who', 'revoke'])]).toEqual([
      '',
      '. Did you mean who?',
    ]);
  });
});

it.each([
  [0, '0ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [61_000, '1m 1s'],
  [7_500_000, '2h 5m'],
  [90_000_000, '1d 1h'],
])('a span of %d ms is %s', (ms, text) => expect(span(ms)).toBe(text));
