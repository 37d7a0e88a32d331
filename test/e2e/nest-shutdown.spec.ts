import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  type INestApplicationContext,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  KlockModule,
  Locked,
  getKlockToken,
  type Klock,
  type KlockModuleOptions,
  type LockHandle,
} from 'klock';
import { LockServer } from 'klock/server';
import { Child } from '../support/child.js';
import { rejection, sharedMemory, sleep, start, until } from './nest-support.js';

@Injectable()
class Service {
  readonly seen: string[] = [];
  constructor(@Inject(getKlockToken()) readonly klock: Klock) {}

  @Locked('body')
  async body(ms: number): Promise<string> {
    await sleep(ms);
    this.seen.push(`body ${this.klock.current()?.held}`);
    return 'done';
  }
  @Locked('held:1', { waitMs: 60_000 })
  async waiter(): Promise<void> {
    await Promise.resolve();
  }
}

@Injectable()
class Farewell implements OnModuleDestroy {
  constructor(private readonly service: Service) {}
  async onModuleDestroy(): Promise<void> {
    const { klock, seen } = this.service;
    seen.push(await klock.withLock('goodbye', (lock) => `goodbye ${lock.held}`));
  }
}

function appOf(options: KlockModuleOptions, ...more: Provider[]): Promise<INestApplicationContext> {
  @Module({ imports: [KlockModule.forRoot(options)], providers: [Service, ...more] })
  class App {}
  return start(App);
}

async function closeWithEverything(
  app: INestApplicationContext,
): Promise<{ tookMs: number; held: LockHandle[]; ends: unknown[] }> {
  const service = app.get(Service);
  const held = await Promise.all(['held:1', 'held:2', 'held:3'].map((key) => service.klock.acquire(key)));
  const body = service.body(400);
  const waiter = rejection(service.waiter());
  await sleep(20);
  const started = performance.now();
  await app.close();
  return { tookMs: performance.now() - started, held, ends: [await body, (await waiter).code] };
}

describe('app.close()', () => {
  it('[B-066] [peers 11] lets hooks use locks, refuses waiters, waits for the running body with its lock renewed, then releases all', async () => {
    const shared = sharedMemory();
    // A lease far shorter than the body: it is held to its end only if it is renewed while closing.
    const app = await appOf({ driver: shared.driver(), ttlMs: 100 }, Farewell);
    const { tookMs, held, ends } = await closeWithEverything(app);
    expect(ends).toEqual(['done', 'CLOSED']);
    expect(app.get(Service).seen).toEqual(['goodbye true', 'body true']);
    expect(held.map((lock) => lock.held)).toEqual([false, false, false]);
    for (const key of ['held:1', 'held:2', 'held:3', 'body'])
      expect(shared.store.inspect([key]).locked).toBe(false);
    expect(tookMs).toBeGreaterThan(300);
    expect(tookMs).toBeLessThan(1_400);
    expect(await rejection(app.get(Service).body(1))).toMatchObject({ code: 'CLOSED' });
  });

  it('[B-066] does not wait longer than graceMs for a body that goes on', async () => {
    const app = await appOf({ driver: 'memory', graceMs: 200 });
    const service = app.get(Service);
    const body = rejection(service.body(2_000));
    await sleep(20);
    const started = performance.now();
    await app.close();
    expect(performance.now() - started).toBeLessThan(1_200);
    expect(await body).toMatchObject({ code: 'LOCK_LOST', reason: 'closed', result: 'done' });
  });

  it('[B-066] is bounded when the lock server is down, and may be called twice', async () => {
    const server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    const app = await appOf({ url: `klock://${server.address}`, graceMs: 500 });
    const service = app.get(Service);
    await service.klock.acquire('held:2');
    await server.close({ graceMs: 1 });
    const started = performance.now();
    await Promise.all([app.close(), app.close()]);
    await app.close();
    expect(performance.now() - started).toBeLessThan(1_500 + 1_000);
  });

  it('[B-066] answers requests in flight before their locks are gone', async () => {
    @Controller()
    class Slow {
      @Get()
      @Locked('slow')
      async get(): Promise<string> {
        await sleep(300);
        return 'answered';
      }
    }
    const shared = sharedMemory();
    @Module({ imports: [KlockModule.forRoot({ driver: shared.driver() })], controllers: [Slow] })
    class App {}
    const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
    await app.listen(0, '127.0.0.1');
    const answer = fetch(await app.getUrl()).then((response) => response.text());
    await until('locked', () => shared.store.inspect(['slow']).locked);
    const closing = app.close();
    await sleep(100);
    expect(shared.store.inspect(['slow']).locked).toBe(true);
    expect(await answer).toBe('answered');
    await closing;
    expect(shared.store.inspect(['slow']).locked).toBe(false);
  });

  it('[B-066] leaves no listener on the process after thirty applications', async () => {
    const events = ['SIGTERM', 'SIGINT', 'exit', 'beforeExit', 'uncaughtException', 'unhandledRejection'];
    const count = (): number[] => events.map((event) => process.listenerCount(event));
    const before = count();
    for (let round = 0; round < 30; round++) {
      const app = await appOf({ driver: 'memory' });
      expect(count()).toEqual(before);
      await app.get(Service).body(0);
      await app.close();
    }
    expect(count()).toEqual(before);
  });
});

describe('a process that is told to stop', () => {
  const script = 'test/e2e/nest-child.mjs';

  it('[B-066] with shutdown hooks ends its running body under its lock, then releases', async () => {
    const server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    const child = await Child.start(script, { args: ['hooks', `klock://${server.address}`] });
    const call = child.call('body', 500);
    await child.event('inside');
    await child.kill('SIGTERM');
    await call.catch(() => undefined);
    expect(child.events.map(({ event, data }) => [event, data])).toContainEqual(['finished', true]);
    expect(server.stats.locks).toBe(0);
    await server.close();
  }, 30_000);

  it('[B-066] [B-079] without hooks, by kill -9 or by process.exit ends at once, and its lock goes with its session', async () => {
    const server = new LockServer({ address: '127.0.0.1:0' });
    await server.start();
    for (const how of ['SIGTERM', 'SIGKILL', 'exit'] as const) {
      const child = await Child.start(script, { args: ['plain', `klock://${server.address}`] });
      void child.call('body', 60_000).catch(() => undefined);
      await child.event('inside');
      const ended = performance.now();
      if (how === 'exit') void child.call('exit').catch(() => undefined);
      else void child.kill(how);
      await child.ended;
      expect(performance.now() - ended).toBeLessThan(2_000);
      expect(server.stats.locks).toBe(1);
      await until('free', () => server.stats.locks === 0);
      expect(performance.now() - ended).toBeLessThan(1_000 + 1_000);
    }
    await server.close();
  }, 30_000);
});
