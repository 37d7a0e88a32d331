/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Module,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
  type PipeTransform,
} from '@nestjs/common';
import { LazyModuleLoader, NestFactory } from '@nestjs/core';
import { MessagePattern, type MicroserviceOptions } from '@nestjs/microservices';
import { map, type Observable } from 'rxjs';
import {
  CurrentLock,
  KlockModule,
  Locked,
  createKlock,
  getKlockToken,
  type Klock,
  type KlockModuleOptions,
  type LockEvent,
  type LockHandle,
} from 'klock';
import { klockDriver } from 'klock/client';
import { LockServer, klockMicroservice } from 'klock/server';
import { WireClient } from '../../lib/server/server.spec-support.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { freePort } from '../support/free-ports.js';
import { rejection, sleep, start, until } from './nest-support.js';

const LOCAL = { address: '127.0.0.1:0' } as const;

@Catch()
class CatchAll implements ExceptionFilter {
  catch(): never {
    throw new Error('a filter that fails');
  }
}
@Catch(HttpException)
class CatchHttp extends CatchAll {}
class Refusing implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}
class Breaking implements PipeTransform {
  transform(): never {
    throw new TypeError('a pipe that fails');
  }
}
class Changing implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map(() => 'changed'));
  }
}

@Injectable()
class Service {
  @Locked('k', { waitMs: 300 })
  async m(@CurrentLock() lock?: LockHandle): Promise<bigint | undefined> {
    return lock?.fence;
  }
  @Locked('long', { ttlMs: 900 })
  async long(ms: number): Promise<string> {
    await sleep(ms);
    return 'done';
  }
}

@Controller()
class Handlers {
  @Get()
  @Locked('k', { waitMs: 0 })
  async get(): Promise<string> {
    return 'ran';
  }
  @MessagePattern('of another transport')
  async message(): Promise<void> {}
}

function everything(
  app: Pick<
    INestApplication,
    'useGlobalFilters' | 'useGlobalPipes' | 'useGlobalGuards' | 'useGlobalInterceptors'
  >,
): void {
  app.useGlobalFilters(new CatchAll(), new CatchHttp());
  app.useGlobalGuards(new Refusing());
  app.useGlobalPipes(new Breaking());
  app.useGlobalInterceptors(new Changing());
}

interface Host {
  readonly address: string;
  close(): Promise<void>;
}

const hosts: Record<string, () => Promise<Host>> = {
  'no application': async () => {
    const server = new LockServer(LOCAL);
    await server.start();
    return { address: server.address, close: () => server.close() };
  },
  createMicroservice: async () => {
    @Module({ controllers: [Handlers], imports: [KlockModule.forRoot({ driver: 'memory' })] })
    class App {}
    const strategy = klockMicroservice(LOCAL);
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(App, { strategy, logger: false });
    everything(app as never);
    await app.listen();
    return { address: strategy.address, close: () => app.close() };
  },
  connectMicroservice: async () => {
    @Module({ controllers: [Handlers], imports: [KlockModule.forRoot({ driver: 'memory' })] })
    class App {}
    const app = await NestFactory.create(App, { logger: false });
    const microservice = klockMicroservice(LOCAL);
    app.connectMicroservice(microservice, { inheritAppConfig: true });
    everything(app);
    await app.startAllMicroservices();
    await app.listen(0, '127.0.0.1');
    return { address: microservice.address, close: () => app.close() };
  },
  'KlockModule.forRoot({ server })': async () => {
    const port = await freePort();
    @Module({
      imports: [KlockModule.forRoot({ server: { address: `127.0.0.1:${port}` } })],
      controllers: [Handlers],
    })
    class App {}
    const app = await NestFactory.create(App, { logger: false });
    everything(app);
    await app.listen(0, '127.0.0.1');
    return { address: `127.0.0.1:${port}`, close: () => app.close() };
  },
};

/** What a client is told in every way a call can go wrong: gRPC status and the code in the answer. */
async function conversation(address: string): Promise<unknown[]> {
  const client = new WireClient(address);
  const said: unknown[] = [];
  const ask = async (
    call: Promise<{ error?: { code: string; message: string } | undefined }>,
  ): Promise<void> => {
    said.push(
      await call.then(
        ({ error }) => error?.code ?? 'ok',
        ({ code }: { code: number }) => code,
      ),
    );
  };
  const sessionId = await client.session();
  await ask(client.acquire({ sessionId, p1: '' }));
  await ask(client.acquire({ sessionId, scope: 'l3' }));
  await ask(client.acquire({ sessionId: 'sess_unknown' }));
  await ask(client.acquire({ sessionId }));
  await ask(client.acquire({ sessionId, timeoutMs: 1n }));
  await ask(client.release({ sessionId, token: 'lk_none' }));
  await ask(client.heartbeat(sessionId, { protocolVersion: '0' }));
  await ask(client.closeSession(sessionId));
  await ask(client.acquire({ sessionId }));
  client.close();
  return said;
}

describe('the lock server inside an application', () => {
  it('[B-064] tells clients exactly what a server alone tells them, whatever filters, guards, pipes and interceptors are global', async () => {
    const told: Record<string, unknown> = {};
    for (const [name, host] of Object.entries(hosts)) {
      const { address, ...running } = await host();
      told[name] = await conversation(address);
      await running.close();
    }
    const alone = told['no application'];
    expect(alone).toEqual(
      expect.arrayContaining([
        'BAD_REQUEST',
        'SESSION_NOT_FOUND',
        'LOCK_TIMEOUT',
        'LOCK_NOT_FOUND',
        'SESSION_GONE',
      ]),
    );
    expect(alone).not.toContain(2);
    for (const name of Object.keys(hosts)) expect([name, told[name]]).toEqual([name, alone]);
  }, 30_000);

  it.each(Object.keys(hosts).slice(1))(
    '[B-066] [B-032] never keeps app.close() hanging on an open stream or an idle session (%s)',
    async (name) => {
      const { address, ...running } = await (hosts[name] as () => Promise<Host>)();
      const client = new WireClient(address);
      const sessionId = await client.session(800n);
      const watched = client.watch({ sessionId });
      await watched.event();
      const started = performance.now();
      await running.close();
      // The session that nobody closes is waited for until its lease is over, which is what its holder was promised.
      expect(performance.now() - started).toBeLessThan(3_000);
      await watched.ended;
      client.close();
    },
    15_000,
  );

  it("gives the application's own locks and those of remote clients one store with one order of fences", async () => {
    const port = await freePort();
    @Module({
      imports: [KlockModule.forRoot({ server: { address: `127.0.0.1:${port}` } })],
      providers: [Service],
    })
    class App {}
    const app = await start(App);
    const remote = createKlock({ driver: klockDriver({ url: `klock://127.0.0.1:${port}` }) });
    const held = await remote.acquire('k');
    expect(await rejection(app.get(Service).m())).toMatchObject({ code: 'LOCK_TIMEOUT' });
    await held.release();
    expect(await app.get(Service).m()).toBeGreaterThan(held.fence);
    const own = await app.get<Klock>(getKlockToken()).acquire('k');
    expect(await remote.tryAcquire('k')).toBeUndefined();
    await own.release();
    await remote.close();
    await app.close();
  });

  it('drains when the application closes: its own body finishes under its lock, remote holders are told at once', async () => {
    const port = await freePort();
    @Module({
      imports: [KlockModule.forRoot({ server: { address: `127.0.0.1:${port}` } })],
      providers: [Service],
    })
    class App {}
    const app = await start(App);
    const remote = createKlock({ driver: klockDriver({ url: `klock://127.0.0.1:${port}` }), ttlMs: 900 });
    const held = await remote.acquire('remote');
    const own = app.get(Service).long(300);
    await sleep(20);
    const closing = app.close();
    expect(await own).toBe('done');
    expect(await held.done).toMatchObject({ end: 'lost', reason: 'session-gone' });
    const closed = performance.now();
    await closing;
    expect(performance.now() - closed).toBeLessThan(2_000);
    await remote.close();
  }, 15_000);

  it('refuses to start with what is wrong in its settings, or when its port is taken', async () => {
    const taken = new LockServer(LOCAL);
    await taken.start();
    for (const [server, message] of [
      [{ address: 'nonsense', drainMs: -5 }, /address.*drainMs/s],
      [{ address: taken.address }, new RegExp(`${taken.port}`)],
    ] as const) {
      @Module({ imports: [KlockModule.forRoot({ server })] })
      class App {}
      expect((await rejection(start(App))).message).toMatch(message);
      const microservice = async (): Promise<unknown> => {
        const app = await NestFactory.createMicroservice<MicroserviceOptions>(App, {
          strategy: klockMicroservice(server),
          logger: false,
          abortOnError: false,
        });
        return await app.listen();
      };
      expect((await rejection(microservice())).message).toMatch(message);
    }
    await taken.close();
  });

  it('stops listening when the application does not start', async () => {
    @Injectable()
    class Wrong {
      @Locked('k', { use: 'nobody' })
      async m(): Promise<void> {}
    }
    const address = `127.0.0.1:${await freePort()}`;
    @Module({ imports: [KlockModule.forRoot({ server: { address } })], providers: [Wrong] })
    class App {}
    expect(await rejection(start(App))).toMatchObject({ code: 'INVALID_OPTION', option: 'use' });
    const next = new LockServer({ address });
    await next.start();
    await next.close();
  });

  it('stops listening when another instance of the application cannot be opened, and opens none after that', async () => {
    const [early, late] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const after = async <T>(ms: number, made: () => T): Promise<T> => {
      await sleep(ms);
      return made();
    };
    const failing = (): KlockModuleOptions => {
      throw new Error('no configuration');
    };
    let isLateMade = (): void => undefined;
    const lateMade = new Promise<void>((resolve) => (isLateMade = resolve));
    const hosted = (): KlockModuleOptions => {
      isLateMade();
      return { server: { address: late } };
    };
    @Module({
      imports: [
        KlockModule.forRoot({ server: { address: early }, name: 'early' }),
        KlockModule.forRootAsync({ useFactory: () => after(50, failing) }),
        KlockModule.forRootAsync({ name: 'late', useFactory: () => after(150, hosted) }),
      ],
    })
    class App {}
    expect(await rejection(start(App))).toMatchObject({ message: 'no configuration' });
    await lateMade;
    await sleep(50);
    for (const address of [early, late]) {
      const next = new LockServer({ address });
      await next.start();
      await next.close();
    }
  });

  it('goes on when a module that is loaded later cannot open its instance', async () => {
    @Module({ imports: [KlockModule.forRoot({ server: LOCAL })], providers: [Service] })
    class App {}
    const app = await start(App);
    const useFactory = (): KlockModuleOptions => ({ url: '' });
    @Module({ imports: [KlockModule.forRootAsync({ name: 'late', useFactory })] })
    class Late {}
    const loading = app.get(LazyModuleLoader).load(() => Late);
    expect(await rejection(loading)).toMatchObject({ code: 'INVALID_OPTION', option: 'url' });
    const lock = await app.get<Klock>(getKlockToken()).acquire('k');
    expect(lock.held).toBe(true);
    await lock.release();
    await app.close();
  });

  it('[B-083] two servers behind one name: a holder that meets the other one is told at once that its lock is lost, and no call is answered as if it had it', async () => {
    const [first, second] = [new LockServer(LOCAL), new LockServer(LOCAL)];
    await Promise.all([first.start(), second.start()]);
    const toFirst = await TcpProxy.start({ target: { port: first.port } });
    @Module({
      imports: [KlockModule.forRoot({ url: `klock://127.0.0.1:${toFirst.port}`, ttlMs: 900 })],
      providers: [Service],
    })
    class App {}
    const app = await start(App);
    const lost: Extract<LockEvent, { type: 'lock.lost' }>[] = [];
    const klock = app.get<Klock>(getKlockToken());
    klock.on('lock.lost', (event) => lost.push(event));
    // The server's word is not enough: a grant that is cut off on its way is no lock of anybody's, and asked for again.
    const granted = new Promise((resolve) => klock.on('lock.granted', resolve));
    const call = rejection(app.get(Service).long(1_500));
    await granted;

    await toFirst.stop();
    const toSecond = await TcpProxy.start({ target: { port: second.port }, port: toFirst.port });
    const moved = performance.now();
    await until('lost', () => lost.length > 0);
    // Sooner than its lease would have ended: the other server's word is enough.
    expect(performance.now() - moved).toBeLessThan(800);
    expect(await call).toMatchObject({ code: 'LOCK_LOST', result: 'done' });
    expect(lost).toHaveLength(1);
    expect(second.stats.locks).toBe(0);
    expect(await app.get(Service).long(0)).toBe('done');

    await app.close();
    await toSecond.stop();
    await Promise.all([first.close({ graceMs: 1 }), second.close({ graceMs: 1 })]);
  }, 20_000);
});
