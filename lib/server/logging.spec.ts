import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { FakeClock } from '../core/fake-clock.js';
import { LogFile } from './log-file.js';
import { logLine } from './log-line.js';
import { LogOutput } from './log-output.js';
import { resolveLogSettings } from './log-settings.js';
import { Problems } from './problems.js';
import { endRigs, rig } from './server.spec-support.js';

afterEach(endRigs);

describe('what a server says about itself', () => {
  it('[K-135] [B-083] the start record names address, server_id, protocol, auth, rate and memory settings', async () => {
    const at = await rig({ authToken: 'secret', rateLimit: { rps: 10, burst: 20 } });
    expect(at.log.find('server_started')).toMatchObject({
      level: 'info',
      address: at.server.address,
      server_id: at.server.serverId,
      protocol: '1',
      single_instance_only: true,
      auth_enabled: true,
      rate_limit_rps: 10,
      rate_limit_burst: 20,
      idempotency_entries: 65_536,
      idempotency_ttl_ms: 3_600_000,
    });
    expect(JSON.stringify(at.log.records)).not.toContain('secret');
  });

  it('[K-131] each call is logged with method, code, duration, peer and outcome, ids redacted', async () => {
    const { client, clock, log } = await rig();
    const [one, two] = [await client.session(), await client.session()];
    const { token } = await client.acquire({ sessionId: one });
    const waiting = client.acquire({ sessionId: two, timeoutMs: 250n });
    await client.heartbeat(two);
    await clock.advance(250);
    await waiting;
    const calls = log.records.filter(({ event }) => event === 'grpc_unary_call');
    expect(calls.length).toBe(5);
    expect(calls[0]).toMatchObject({
      level: 'debug',
      method: '/klock.v1.LockService/CreateSession',
      code: 'OK',
      outcome: 'ok',
      duration_ms: 0,
      peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as unknown,
    });
    expect(calls.at(-1)).toMatchObject({
      level: 'info',
      method: '/klock.v1.LockService/Acquire',
      code: 'LOCK_TIMEOUT',
      outcome: 'refused',
      duration_ms: 250,
    });
    const text = JSON.stringify(log.records);
    for (const secret of [one, two, token]) expect(text).not.toContain(secret);
    expect(text).toContain(one.slice(0, 12));
  });

  it('[K-131] a watch is logged when it ends', async () => {
    const { client, log } = await rig();
    const sessionId = await client.session();
    const watched = client.watch({ sessionId });
    await watched.event();
    await client.closeSession(sessionId);
    await watched.ended;
    expect(log.find('grpc_stream_call')).toMatchObject({
      code: 'OK',
      session: `${sessionId.slice(0, 12)}...`,
    });
    await client.watch({ sessionId }).ended;
    expect(log.records.filter(({ event }) => event === 'grpc_stream_call').at(-1)).toMatchObject({
      code: 'SESSION_GONE',
    });
  });

  it('[K-130] counters change as described, and go to the log every 30 s and at the end', async () => {
    const at = await rig({ authToken: 'secret' });
    const sessionId = await at.client.session();
    await at.client.heartbeat('sess_unknown');
    await at
      .connect('wrong')
      .create()
      .catch(() => undefined);
    await at.client.watch({ sessionId: 'sess_unknown' }).ended;
    const watched = at.client.watch({ sessionId });
    await watched.event();
    expect(at.server.counters).toEqual({
      unary_calls: 2,
      unary_failures: 1,
      stream_calls: 2,
      stream_failures: 1,
      auth_failures: 1,
      rate_limited: 0,
      session_invalidations: 0,
      locks_revoked: 0,
      watcher_event_drops: 0,
      active_watchers: 1,
      rate_limiter_entries: 0,
    });
    await at.client.closeSession(sessionId);
    const reports = () => at.log.records.filter(({ event }) => event === 'server_metrics');
    expect(reports()).toEqual([]);
    await at.clock.advance(60_000);
    expect(reports().length).toBe(2);
    expect(reports()[0]).toMatchObject({ level: 'info', session_invalidations: 1, active_watchers: 0 });
    await at.end();
    expect(reports().length).toBe(3);
  });

  it('[K-130] a call that its client gave up counts as a failure', async () => {
    const { client, server, log } = await rig();
    const [one, two] = [await client.session(), await client.session()];
    await client.acquire({ sessionId: one });
    const waiting = client.acquiring({ sessionId: two });
    await client.heartbeat(two);
    waiting.cancel();
    await waiting.answer.catch(() => undefined);
    await client.heartbeat(two);
    expect(server.counters).toMatchObject({ unary_failures: 1 });
    expect(log.records.find(({ code }) => code === 'TRANSPORT_ERROR')).toMatchObject({ outcome: 'ended' });
  });
});

describe('the built-in log', () => {
  let folder: string;
  const clock = new FakeClock();
  /** The age of a file is told by the file system, in real time. */
  const nowClock = new FakeClock({ monoMs: 0, wallMs: Date.now() });

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'klock-log-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const settings = (change: object) => ({
    ...resolveLogSettings(
      { output: join(folder, 'deep/server.log'), console: false, ...change },
      new Problems(),
    ),
  });
  const files = (): string[] => readdirSync(join(folder, 'deep')).sort();

  it('[K-133] writes JSON lines into a file whose folder it makes, from its level on', async () => {
    const log = await LogOutput.open(settings({ level: 'warn' }), clock);
    log.write('info', 'quiet');
    log.write('warn', 'loud', { a: 1, b: 'x"y', c: undefined });
    expect([log.enabled('info'), log.enabled('fatal')]).toEqual([false, true]);
    await log.close();
    expect(readFileSync(join(folder, 'deep/server.log'), 'utf8')).toBe(
      '{"time":"2027-01-15T08:00:00.000Z","level":"warn","event":"loud","a":1,"b":"x\\"y"}\n',
    );
  });

  it('[K-133] as text for people nothing in a fact can begin another line or fact', () => {
    const line = logLine('console', 0, 'info', 'event', {
      plain: 'a-b',
      odd: 'x y=z\nFAKE',
      n: 3,
      no: undefined,
    });
    expect(line).toBe('1970-01-01T00:00:00.000Z INFO  event plain=a-b odd="x y=z\\nFAKE" n=3\n');
  });

  it('[K-133] begins a new file at its size, compresses old ones, and keeps as many as told', async () => {
    const file = await LogFile.open(settings({ maxBackups: 2 }), nowClock, 100);
    for (let line = 0; line < 5; line++) {
      file.write(`${line}`.repeat(80) + '\n');
      await new Promise((resolve) => setTimeout(resolve, 20));
      await nowClock.advance(1_000);
    }
    await file.close();
    expect(files().length).toBe(3);
    const [live, ...old] = files();
    expect(readFileSync(join(folder, 'deep', live!), 'utf8')).toMatch(/^4+\n$/);
    expect(old.map((name) => gunzipSync(readFileSync(join(folder, 'deep', name))).toString())).toEqual([
      `${'2'.repeat(80)}\n`,
      `${'3'.repeat(80)}\n`,
    ]);
    expect(file.dropped).toBe(0);
  });

  it('[K-133] removes files older than told, and leaves them plain where compression is off', async () => {
    const file = await LogFile.open(settings({ maxAgeDays: 1, compress: false }), nowClock, 10);
    const old = join(folder, 'deep/server.log.2000-01-01');
    writeFileSync(old, 'old');
    utimesSync(old, nowClock.wallMs() / 1_000 - 90_000, nowClock.wallMs() / 1_000 - 90_000);
    file.write('first line\n');
    await new Promise((resolve) => setTimeout(resolve, 20));
    file.write('second line\n');
    await file.close();
    expect(existsSync(old)).toBe(false);
    expect(files().length).toBe(2);
    expect(files().some((name) => name.endsWith('.gz'))).toBe(false);
  });

  it('[K-134] a path that cannot be opened fails the start', async () => {
    writeFileSync(join(folder, 'file'), '');
    await expect(
      LogOutput.open(settings({ output: join(folder, 'file/server.log') }), clock),
    ).rejects.toThrow();
  });

  it.each(['stdout', 'stderr'] as const)(
    '[K-133] a %s whose reader has gone costs lines, not the process, however many servers wrote to it',
    async (output) => {
      const before = process[output].listenerCount('error');
      for (let server = 0; server < 3; server++)
        await (await LogOutput.open(settings({ output }), clock)).close();
      expect(() => process[output].emit('error', new Error('write EPIPE'))).not.toThrow();
      expect(process[output].listenerCount('error')).toBeLessThanOrEqual(before + 1);
    },
  );

  it('lines the disk cannot take in time are dropped and counted, never kept without bound', async () => {
    const file = await LogFile.open(settings({}), clock);
    for (let line = 0; line < 10; line++) file.write('x'.repeat(1_000_000));
    expect(file.dropped).toBe(6);
    await file.close();
  });
});
