// Several applications, and several imports of the module, in one process, over lock servers.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import {
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  type DynamicModule,
  type INestApplication,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CurrentLock, InjectKlock, KlockModule, Locked, type Klock, type LockHandle } from 'klock';
import { LockServer } from 'klock/server';
import { until } from './nest-support.js';

/** The same class in every application. */
@Injectable()
class Orders {
  constructor(@InjectKlock() readonly klock: Klock) {}
  @Locked('order:{0}')
  async place(_id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return `${lock?.held} ${await this.klock.isLocked(lock!.key)}`;
  }
}
@Controller()
class Calls {
  constructor(private readonly orders: Orders) {}
  @Get('orders/:id')
  async place(@Param('id') id: string): Promise<string> {
    return await this.orders.place(id);
  }
}

let a: LockServer;
let b: LockServer;
beforeAll(async () => {
  [a, b] = [new LockServer({ address: '127.0.0.1:0' }), new LockServer({ address: '127.0.0.1:0' })];
  await Promise.all([a.start(), b.start()]);
});
afterAll(async () => {
  await Promise.all([a.close({ graceMs: 1 }), b.close({ graceMs: 1 })]);
});
const urlOf = (server: LockServer): string => `klock://${server.address}`;

async function appOf(...imports: DynamicModule[]): Promise<INestApplication> {
  @Module({ imports, controllers: [Calls], providers: [Orders] })
  class App {}
  const app = await NestFactory.create(App, {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  await app.listen(0, '127.0.0.1');
  return app;
}
async function place(app: INestApplication, id: string): Promise<string> {
  const response = await fetch(`${await app.getUrl()}/orders/${id}`, { headers: { connection: 'close' } });
  return `${response.status} ${await response.text()}`;
}

describe('applications in one process over lock servers', () => {
  it('[B-063] each reach their own server through the same decorated class, also after the other has closed', async () => {
    const one = await appOf(KlockModule.forRoot({ url: urlOf(a), namespace: 'a' }));
    const two = await appOf(KlockModule.forRoot({ url: urlOf(b), namespace: 'b' }));
    // Held at the server of the first alone: the second is not kept out.
    const held = await one.get(Orders).klock.acquire('order:1');
    expect([a.stats.locks, b.stats.locks]).toEqual([1, 0]);
    expect(await place(two, '1')).toBe('200 true true');
    expect([a.stats.sessions, b.stats.sessions]).toEqual([1, 1]);
    await held.release();
    expect(await place(one, '1')).toBe('200 true true');
    await one.close();
    expect([a.stats.sessions, b.stats.sessions]).toEqual([0, 1]);
    expect(await place(two, '2')).toBe('200 true true');
    await two.close();
    expect(b.stats.sessions).toBe(0);
  });

  it('[B-063] have one session for equal options however often they are imported, options of a factory with what it injects', async () => {
    const options = { url: urlOf(a), ttlMs: 5_000 };
    @Module({ imports: [KlockModule.forRoot(options)], providers: [Orders], exports: [Orders] })
    class Billing {}
    @Module({ imports: [KlockModule.forRoot({ ...options })], providers: [Orders] })
    class Shipping {}
    @Module({
      providers: [{ provide: 'CONFIG', useValue: new Map([['LOCKS', urlOf(b)]]) }],
      exports: ['CONFIG'],
    })
    class Config {}
    const elsewhere = KlockModule.forRootAsync({
      name: 'elsewhere',
      imports: [Config],
      inject: ['CONFIG'],
      useFactory: async (config: Map<string, string>) => ({ url: config.get('LOCKS')! }),
    });
    const app = await appOf({ module: Billing }, { module: Shipping }, elsewhere);
    const all = app.get(Orders, { strict: false, each: true });
    expect(all.length).toBeGreaterThan(1);
    for (const orders of all) expect(await orders.place('7')).toBe('true true');
    expect(new Set(all.map(({ klock }) => klock)).size).toBe(1);
    expect(a.stats.sessions).toBe(1);
    await app.close();
    await until('nothing left', () => a.stats.sessions + b.stats.sessions === 0);
  });

  it('[B-063] leave neither a session nor a connection at the server, twenty one after the other', async () => {
    for (let round = 0; round < 20; round++) {
      const app = await appOf(KlockModule.forRoot({ url: urlOf(a) }));
      expect(await place(app, String(round))).toBe('200 true true');
      await app.close();
      expect([round, a.stats.sessions, a.stats.locks]).toEqual([round, 0, 0]);
    }
    await until('no connection', () => a.connections === 0);
  }, 30_000);
});
