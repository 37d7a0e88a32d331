import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, Get, Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { KlockHealthIndicator, KlockModule, getKlockToken, type Klock, type KlockModuleOptions } from 'klock';
import { LockServer } from 'klock/server';
import { WireClient } from '../../lib/server/server.spec-support.js';
import { freePort } from '../support/free-ports.js';
import { rejection, sharedMemory, until } from './nest-support.js';

@Controller()
class Health {
  constructor(
    private readonly checks: HealthCheckService,
    private readonly locks: KlockHealthIndicator,
  ) {}

  @Get('health')
  @HealthCheck()
  async health(): Promise<HealthCheckResult> {
    return await this.checks.check([() => this.locks.isHealthy('locks', { timeoutMs: 500 })]);
  }
}

interface Checked {
  readonly http: number;
  readonly overall: string;
  readonly locks: Record<string, unknown>;
}

async function appOf(options: KlockModuleOptions): Promise<INestApplication> {
  @Module({ imports: [TerminusModule, KlockModule.forRoot(options)], controllers: [Health] })
  class App {}
  const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  return app;
}

async function check(app: INestApplication): Promise<Checked> {
  const response = await fetch(`${await app.getUrl()}/health`, { headers: { connection: 'close' } });
  const body = (await response.json()) as { status: string; details: { locks: Record<string, unknown> } };
  return { http: response.status, overall: body.status, locks: body.details.locks };
}

describe('the health indicator in terminus', () => {
  let app: INestApplication | undefined;
  let server: LockServer | undefined;
  afterEach(async () => {
    await app?.close();
    await server?.close();
    app = server = undefined;
  });

  it('is up over a store that answers', async () => {
    app = await appOf({ driver: 'memory' });
    expect(await check(app)).toMatchObject({
      http: 200,
      overall: 'ok',
      locks: { status: 'up', driver: 'memory', state: 'ok', jeopardy: 0 },
    });
    server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    const remote = await appOf({ url: `klock://${server.address}` });
    const { http, locks } = await check(remote);
    expect([http, locks]).toEqual([200, expect.objectContaining({ state: 'ok', driver: 'klock' })]);
    expect(locks.tookMs).toBeGreaterThan(0);
    await remote.close();
  });

  it('is down, in bounded time, when the store does not answer', async () => {
    server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    app = await appOf({ url: `klock://${server.address}` });
    await server.close({ graceMs: 1 });
    const started = performance.now();
    expect(await check(app)).toMatchObject({
      http: 503,
      overall: 'error',
      locks: { status: 'down', state: 'unreachable' },
    });
    expect(performance.now() - started).toBeLessThan(1_500);
  });

  it('is degraded while a held lease cannot be renewed although the store answers, unless it is told otherwise', async () => {
    const { driver } = sharedMemory();
    const flaky = driver();
    let failing = false;
    const renew = flaky.renew.bind(flaky);
    flaky.renew = async (leases, timeoutMs) =>
      failing
        ? leases.map(() => ({ outcome: 'failed' as const, cause: new Error('lost on the way') }))
        : await renew(leases, timeoutMs);
    app = await appOf({ driver: flaky, ttlMs: 1_000 });
    const lock = await app.get<Klock>(getKlockToken()).acquire('k');
    failing = true;
    await until('jeopardy', async () => (await check(app!)).locks.jeopardy === 1);
    expect(await check(app)).toMatchObject({ http: 200, overall: 'degraded', locks: { status: 'degraded' } });
    const indicator = app.get(KlockHealthIndicator);
    expect((await indicator.isHealthy('locks', { onJeopardy: 'down' })).locks.status).toBe('down');
    failing = false;
    await until('healthy', async () => (await check(app!)).locks.status === 'up');
    expect(lock.held).toBe(true);
    await lock.release();
  });

  it('is down while the server drains, while it is quarantined and while the application shuts down', async () => {
    const { driver } = sharedMemory();
    const told = driver();
    app = await appOf({ driver: told });
    for (const state of ['draining', 'quarantined', 'misconfigured'] as const) {
      told.health = () => Promise.resolve({ state });
      expect(await check(app)).toMatchObject({ http: 503, locks: { status: 'down', state } });
    }
    told.health = () => new Promise(() => undefined);
    expect((await check(app)).locks).toMatchObject({
      state: 'unreachable',
      detail: 'no answer within 500 ms',
    });
    told.health = () => Promise.reject(new Error('broken driver'));
    expect((await check(app)).locks).toMatchObject({ state: 'unreachable', detail: 'broken driver' });
    const indicator = app.get(KlockHealthIndicator);
    await app.close();
    expect((await indicator.isHealthy('locks')).locks).toMatchObject({ status: 'down', state: 'closing' });
  });

  it('is down while a real server drains', async () => {
    server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    app = await appOf({ url: `klock://${server.address}` });
    expect((await check(app)).locks).toMatchObject({ status: 'up', state: 'ok' });
    // Somebody who does not listen: his lease is waited for.
    const deaf = new WireClient(server.address);
    await deaf.session(20_000n);
    const drained = server.drain({ limitMs: 20_000 });
    await until('draining', async () => (await check(app!)).locks.state === 'draining');
    expect(await check(app)).toMatchObject({ http: 503, overall: 'error', locks: { status: 'down' } });
    expect(await rejection(app.get<Klock>(getKlockToken()).acquire('k', { waitMs: 100 }))).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
    });
    await server.close({ graceMs: 1 });
    await drained;
    deaf.close();
  }, 20_000);

  it.each(['beside the application', 'hosted by it'])(
    'is down while a real server waits for the locks of the one before it, and up again when it has: %s',
    async (where) => {
      const folder = await mkdtemp(join(tmpdir(), 'klock-health-'));
      // A directory nobody says is new may be that of a server that was killed.
      const settings = {
        address: `127.0.0.1:${await freePort()}`,
        stateDir: folder,
        maxLeaseMs: 1_500,
        defaultLeaseMs: 1_500,
      };
      try {
        if (where === 'hosted by it') app = await appOf({ server: settings, ttlMs: 1_000 });
        else {
          server = new LockServer(settings);
          await server.start();
          app = await appOf({ url: `klock://${settings.address}`, ttlMs: 1_000 });
        }
        expect(await check(app)).toMatchObject({
          http: 503,
          overall: 'error',
          locks: { status: 'down', state: 'quarantined' },
        });
        // What a lock was told meanwhile is no news for ever.
        const klock = app.get<Klock>(getKlockToken());
        expect(await rejection(klock.acquire('k', { waitMs: 1 }))).toMatchObject({
          code: 'LOCK_UNAVAILABLE',
        });
        await until('ok', async () => (await check(app!)).locks.state === 'ok');
        expect(await check(app)).toMatchObject({ http: 200, locks: { status: 'up' } });
      } finally {
        await app?.close();
        await server?.close({ graceMs: 1 });
        await rm(folder, { recursive: true, force: true });
      }
    },
    20_000,
  );

  it('is down where a real server refuses the token for good', async () => {
    server = new LockServer({ address: '127.0.0.1:0', authToken: 'right-token-of-the-server' });
    await server.start();
    app = await appOf({ url: `klock://${server.address}`, authToken: 'wrong' });
    expect(await check(app)).toMatchObject({ http: 503, locks: { status: 'down', state: 'misconfigured' } });
  });

  it('refuses instances and options it does not know', async () => {
    app = await appOf({ driver: 'memory' });
    const indicator = app.get(KlockHealthIndicator);
    for (const options of [{ use: 'other' }, { timeoutMs: 0 }, { onJeopardy: 'sick' }, { useless: 1 }]) {
      const refused = await rejection(indicator.isHealthy('locks', options as never));
      expect(refused).toMatchObject({ code: 'INVALID_OPTION', option: Object.keys(options)[0] });
    }
  });
});
