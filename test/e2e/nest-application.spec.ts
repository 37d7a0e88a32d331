/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import {
  Inject,
  Injectable,
  Module,
  Scope,
  type DynamicModule,
  type OnModuleInit,
  type Provider,
  type Type,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import {
  CurrentLock,
  InjectKlock,
  KlockModule,
  Locked,
  createKlock,
  getKlockToken,
  memoryDriver,
  type Klock,
  type KlockModuleOptions,
  type LockHandle,
} from 'klock';
import { listeningLogger, rejection, sharedMemory, start, until } from './nest-support.js';

/** Says under which instance's lock it ran. */
@Injectable()
class Service {
  runs = 0;
  @Locked('k:{0}')
  async m(_id: number, @CurrentLock() lock?: LockHandle): Promise<string> {
    this.runs++;
    return lock?.held === true ? lock.key.join('/') : 'UNLOCKED';
  }
}

function appOf(imports: readonly (DynamicModule | Type)[], providers: Provider[] = [Service]): Type {
  @Module({ imports: [...imports], providers })
  class App {}
  return App;
}
const memory = { driver: 'memory' } as const;

describe('KlockModule options', () => {
  it('[B-005] are refused when they name no back end, an empty one, several, or something unknown', () => {
    const bad: readonly [unknown, string][] = [
      [undefined, 'options'],
      [null, 'options'],
      [[], 'options'],
      ['memory', 'options'],
      [{}, 'driver'],
      [{ ttlMs: 5_000 }, 'driver'],
      [{ name: 'x' }, 'driver'],
      [{ url: undefined }, 'url'],
      [{ url: null }, 'url'],
      [{ url: '' }, 'url'],
      [{ url: [] }, 'url'],
      [{ redis: undefined }, 'redis'],
      [{ etcd: null }, 'etcd'],
      [{ server: undefined }, 'server'],
      [{ driver: undefined, url: 'klock://x:1' }, 'driver'],
      [{ server: {}, url: 'klock://x:1' }, 'server'],
      [{ driver: 'memory', url: 'klock://x:1' }, 'url'],
      [{ driver: 'memory', tllMs: 1 }, 'tllMs'],
      [{ driver: 'memory', authToken: 'x' }, 'authToken'],
      [{ driver: 'memory', name: '' }, 'name'],
      [{ driver: 'memory', graceMs: 0 }, 'graceMs'],
    ];
    for (const [options, option] of bad) {
      let error: unknown;
      try {
        KlockModule.forRoot(options as KlockModuleOptions);
      } catch (caught) {
        error = caught;
      }
      expect([options, error]).toEqual([
        options,
        expect.objectContaining({ code: 'INVALID_OPTION', option }),
      ]);
    }
  });

  it('are refused at the start when a factory gives them, or a driver knows better', async () => {
    for (const options of [
      undefined,
      {},
      { url: process.env.NOT_SET },
      { ...memory, ttlMs: 0 },
      { driver: 'mem' },
    ]) {
      const app = appOf([KlockModule.forRootAsync({ useFactory: () => options as KlockModuleOptions })]);
      const refused = await rejection(start(app));
      expect(refused).toMatchObject({ code: 'INVALID_OPTION' });
      if (options === undefined)
        expect(refused.message).toMatch(/factory .* returned undefined: return options/);
    }
    const misspelt = { useFactory: () => memory, inject: [], useClass: Service };
    expect(() => KlockModule.forRootAsync(misspelt)).toThrow(/no option "useClass"/);
    expect(() => KlockModule.forFeature({ prefix: '' })).toThrow(/prefix must be/);
    expect(() => KlockModule.forFeature({ prefix: 'a/b' })).toThrow(/prefix must be/);
  });

  it('of Redis and etcd are checked by their driver at the start, before anything is contacted', async () => {
    const bad: readonly [object, string][] = [
      [{ redis: { hosts: 'x' } }, 'redis'],
      [{ redis: 'redis://127.0.0.1' }, 'redis'],
      [{ etcd: { hosts: [] } }, 'etcd.hosts'],
      [{ etcd: { hosts: '127.0.0.1:1', password: 'x' } }, 'etcd.username'],
      // Leases are whole seconds there.
      [{ etcd: { hosts: '127.0.0.1:1' }, ttlMs: 1_500 }, 'ttlMs'],
    ];
    for (const [options, option] of bad) {
      const refused = await rejection(start(appOf([KlockModule.forRoot(options as KlockModuleOptions)])));
      expect(refused).toMatchObject({ code: 'INVALID_OPTION', option });
    }
    expect(() => KlockModule.forRoot({ etcd: { hosts: 'x' }, fencing: 'required' } as never)).toThrow(
      /fencing/,
    );
  });

  it('may be left out for locks inside the process, which says so once, and which production refuses unless it is asked for by name', async () => {
    const { logger, lines } = listeningLogger();
    const local = await start(appOf([KlockModule.forRoot(), KlockModule.forRoot()]), logger);
    expect(await local.get(Service).m(1)).toBe('k:1');
    await local.close();
    expect(lines.filter((line) => line.includes('local to this process'))).toHaveLength(1);
    const { NODE_ENV } = process.env;
    process.env.NODE_ENV = 'production';
    try {
      const refused = await rejection(start(appOf([KlockModule.forRoot()])));
      expect(refused).toMatchObject({ code: 'INVALID_OPTION', option: 'driver' });
      expect(refused.message).toContain('production');
      const app = await start(appOf([KlockModule.forRoot(memory)]));
      expect(await app.get(Service).m(1)).toBe('k:1');
      await app.close();
    } finally {
      process.env.NODE_ENV = NODE_ENV;
    }
  });
});

describe('several applications and imports in one process', () => {
  it('[B-063] each call reaches the store of the application that owns the object, also after the other has closed', async () => {
    const [a, b] = [sharedMemory(), sharedMemory()];
    const app1 = await start(appOf([KlockModule.forRoot({ driver: a.driver(), namespace: 'a' })]));
    const app2 = await start(appOf([KlockModule.forRoot({ driver: b.driver(), namespace: 'b' })]));
    const held = await app1.get<Klock>(getKlockToken()).acquire('k:1');
    expect(a.store.inspect(['a/k:1']).locked).toBe(true);
    expect(b.store.inspect(['b/k:1']).locked).toBe(false);
    expect(await app2.get(Service).m(1)).toBe('k:1');
    await held.release();
    expect(await app1.get(Service).m(1)).toBe('k:1');
    await app1.close();
    expect(await rejection(app1.get(Service).m(1))).toMatchObject({ code: 'CLOSED' });
    expect(await app2.get(Service).m(1)).toBe('k:1');
    await app2.close();
  });

  it('[B-063] gives one instance to all imports with the same options, and refuses to start with different unnamed ones', async () => {
    const shared = sharedMemory();
    const driver = shared.driver();
    const feature = (): DynamicModule => ({ module: appOf([KlockModule.forRoot({ driver, ttlMs: 5_000 })]) });
    const app = await start(appOf([feature(), feature(), KlockModule.forRoot({ ttlMs: 5_000, driver })]));
    expect(app.get(Service, { each: true, strict: false }).length).toBeGreaterThan(1);
    for (const service of app.get(Service, { each: true, strict: false }))
      expect(await service.m(1)).toBe('k:1');
    await app.close();

    const twice = appOf([KlockModule.forRoot(memory), KlockModule.forRoot({ ...memory, ttlMs: 5_000 })]);
    const error = await rejection(start(twice));
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'name' });
    expect(error.message).toContain('"default"');
  });

  it('[B-063] keeps named instances apart, and refuses a method that uses one nobody registered', async () => {
    const [plain, orders] = [sharedMemory(), sharedMemory()];
    @Injectable()
    class Orders {
      constructor(@InjectKlock('orders') readonly klock: Klock) {}
      @Locked('o', { use: 'orders' })
      async m(): Promise<boolean[]> {
        return [orders.store.inspect(['o']).locked, plain.store.inspect(['o']).locked];
      }
    }
    const root = KlockModule.forRoot({ driver: plain.driver() });
    const named = KlockModule.forRootAsync({
      name: 'orders',
      inject: ['SETTINGS'],
      imports: [
        {
          module: class Settings {},
          providers: [{ provide: 'SETTINGS', useValue: 7_000 }],
          exports: ['SETTINGS'],
        },
      ],
      useFactory: async (ttlMs: number) => ({ driver: orders.driver(), ttlMs }),
    });
    const app = await start(appOf([root, named], [Orders]));
    expect(await app.get(Orders).m()).toEqual([true, false]);
    expect(app.get(Orders).klock.name).toBe('orders');
    await app.close();
    const made: Provider = { provide: Orders, useFactory: () => new Orders({} as Klock) };
    const error = await rejection(start(appOf([KlockModule.forRoot(memory)], [made])));
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'use' });
    expect(error.message).toMatch(/Orders\.m uses the instance "orders"; imported are default/);
  });

  it('[B-063] says that one object in two running applications has the locks of the first', async () => {
    const [a, b] = [sharedMemory(), sharedMemory()];
    const reused = new Service();
    const providers = [{ provide: Service, useValue: reused }];
    const app1 = await start(appOf([KlockModule.forRoot({ driver: a.driver() })], providers));
    const { logger, lines } = listeningLogger();
    const app2 = await start(appOf([KlockModule.forRoot({ driver: b.driver() })], providers), logger);
    expect(lines.filter((line) => line.includes('Service is one object in two applications'))).toHaveLength(
      1,
    );
    const held = await app1.get<Klock>(getKlockToken()).acquire('k:1');
    const waiting = app2.get(Service).m(1);
    await until('waits for the first', () => a.store.inspect(['k:1']).waiters.length === 1);
    await held.release();
    expect(await waiting).toBe('k:1');
    await Promise.all([app1.close(), app2.close()]);
  });

  it('[B-063] leaves nothing behind after twenty applications one after the other', async () => {
    const shared = sharedMemory();
    const reused = new Service();
    for (let round = 0; round < 20; round++) {
      const app = await start(
        appOf([KlockModule.forRoot({ driver: shared.driver() })], [{ provide: Service, useValue: reused }]),
      );
      expect(await app.get(Service).m(round)).toBe(`k:${round}`);
      await app.close();
    }
    const after = createKlock({ driver: shared.driver() });
    await (await after.acquire('k:1')).release();
    expect(shared.store.inspect(['k:1']).locked).toBe(false);
    await after.close();
  });

  it('shows a feature module its keys behind a prefix, in injected instances and in decorated methods', async () => {
    const shared = sharedMemory();
    @Injectable()
    class Invoices extends Service {
      constructor(@InjectKlock() readonly klock: Klock) {
        super();
      }
    }
    const billing: DynamicModule = {
      module: appOf(
        [KlockModule.forFeature({ prefix: 'billing' })],
        [Invoices, { provide: 'made', useFactory: () => new Service() }],
      ),
    };
    const app = await start(appOf([billing, KlockModule.forRoot({ driver: shared.driver() })]));
    const held = await app.get(Invoices).klock.acquire('k:1');
    expect(shared.store.inspect(['billing/k:1']).locked).toBe(true);
    expect(await app.get(Service).m(1)).toBe('k:1');
    for (const service of [app.get(Invoices), app.get<Service>('made')]) {
      const busy = service.m(1);
      await held[Symbol.asyncDispose]();
      expect(await busy).toBe('k:1');
    }
    await app.close();
    const nowhere = appOf(
      [{ module: appOf([KlockModule.forFeature({ prefix: 'x', use: 'nope' })], []) }],
      [],
    );
    expect(await rejection(start(nowhere))).toMatchObject({ code: 'INVALID_OPTION', option: 'use' });
  });
});

describe('an object of the application', () => {
  const factory = (options: Partial<Provider> = {}): Provider =>
    ({ provide: Service, useFactory: () => new Service(), ...options }) as Provider;

  it.each<[string, Provider]>([
    ['a class', Service],
    ['useClass', { provide: Service, useClass: Service }],
    ['useValue', { provide: Service, useValue: new Service() }],
    ['useFactory', factory()],
    ['an async useFactory', factory({ useFactory: async () => new Service() })],
    ['a request-scoped class', { provide: Service, useClass: Service, scope: Scope.REQUEST }],
    ['a transient class', { provide: Service, useClass: Service, scope: Scope.TRANSIENT }],
    ['a request-scoped factory', factory({ scope: Scope.REQUEST })],
    ['a transient factory', factory({ scope: Scope.TRANSIENT })],
    [
      'a request-scoped async factory',
      factory({ useFactory: async () => new Service(), scope: Scope.REQUEST }),
    ],
    ['a frozen value', { provide: Service, useValue: Object.freeze(new Service()) }],
  ])('[B-061] [peers 4] is locked when it is made by %s', async (_how, provider) => {
    const app = await start(appOf([KlockModule.forRoot(memory)], [provider]));
    const service = await app
      .get(ModuleRef)
      .resolve(Service, undefined, { strict: false })
      .catch(() => app.get(Service));
    const call = service.m(1);
    if (Object.isFrozen(service)) expect((await rejection(call)).message).toMatch(/runs|assign/);
    else expect(await call).toBe('k:1');
    await app.close();
  });

  it('[B-061] is locked when a transient factory made it for another object', async () => {
    @Injectable()
    class Caller {
      constructor(readonly service: Service) {}
    }
    const transient = factory({ scope: Scope.TRANSIENT });
    const app = await start(appOf([KlockModule.forRoot(memory)], [Caller, transient]));
    expect(await app.get(Caller).service.m(1)).toBe('k:1');
    await app.close();
  });

  it('[B-061] is locked in inherited and in overridden methods', async () => {
    @Injectable()
    class Inheriting extends Service {}
    @Injectable()
    class Overriding extends Service {
      @Inject(ModuleRef) readonly moduleRef?: ModuleRef;
      @Locked('over:{0}')
      override async m(id: number, @CurrentLock() lock?: LockHandle): Promise<string> {
        return `${lock?.key.join('/')} ${this.moduleRef !== undefined} ${await super.m(id)}`;
      }
    }
    @Injectable()
    class Unlocked extends Service {
      override async m(_id: number): Promise<string> {
        return 'as it says';
      }
    }
    const app = await start(appOf([KlockModule.forRoot(memory)], [Inheriting, Overriding, Unlocked]));
    expect(await app.get(Inheriting).m(1)).toBe('k:1');
    expect(await app.get(Overriding).m(1)).toBe('over:1 true k:1');
    expect(await app.get(Unlocked).m(1)).toBe('as it says');
    await app.close();
  });

  it('[B-061] is locked wherever the call comes from: hooks, constructors, timers, other async contexts', async () => {
    const results: Promise<string>[] = [];
    @Injectable()
    class Caller implements OnModuleInit {
      constructor(
        private readonly service: Service,
        @Inject('MADE') private readonly made: Service,
      ) {
        results.push(service.m(1));
      }
      onModuleInit(): void {
        results.push(this.service.m(2), this.made.m(3));
        results.push(new Promise((resolve) => setTimeout(() => resolve(this.service.m(4)), 1)));
      }
    }
    const made: Provider = { provide: 'MADE', useFactory: () => new Service() };
    const app = await start(appOf([KlockModule.forRoot(memory)], [Caller, Service, made]));
    const { AsyncLocalStorage } = await import('node:async_hooks');
    results.push(new AsyncLocalStorage<string>().run('outer', () => app.get(Service).m(5)));
    expect(await Promise.all(results)).toEqual(['k:1', 'k:2', 'k:3', 'k:4', 'k:5']);
    await app.close();
  });

  it('[B-061] [peers 4] that was made by hand, or by an application without the module, never runs unlocked and says what is missing', async () => {
    const byHand = new Service();
    const app = await start(appOf([]));
    for (const service of [byHand, app.get(Service)]) {
      const error = await rejection(service.m(1));
      expect(error).toMatchObject({ code: 'NOT_INITIALIZED' });
      expect(error.message).toMatch(/Service\.m.*KlockModule\.forRoot/s);
      expect(service.runs).toBe(0);
    }
    await app.close();
  });

  it('[B-061] is refused at the start when a parameter asks for a lock that no @Locked takes', async () => {
    @Injectable()
    class Forgotten {
      async m(@CurrentLock() _lock?: LockHandle): Promise<void> {}
    }
    const error = await rejection(start(appOf([KlockModule.forRoot(memory)], [Forgotten])));
    expect(error).toMatchObject({ code: 'UNSUPPORTED_TARGET' });
    expect(error.message).toContain('Forgotten.m');
  });

  it('is refused at the start when its back end cannot keep atLeastMs', async () => {
    @Injectable()
    class Job {
      @Locked('job', { atLeastMs: 1_000 })
      async m(): Promise<void> {}
    }
    const driver = memoryDriver();
    Object.assign(driver, { capabilities: { ...driver.capabilities, atLeast: false } });
    const error = await rejection(start(appOf([KlockModule.forRoot({ driver })], [Job])));
    expect(error).toMatchObject({ code: 'INVALID_OPTION', option: 'atLeastMs' });
    expect(error.message).toContain('Job.m');
  });
});
