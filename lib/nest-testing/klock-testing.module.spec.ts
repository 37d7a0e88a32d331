import { Inject, Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  CurrentLock,
  InjectKlock,
  KlockModule,
  Locked,
  bindLocks,
  getKlockToken,
  type Klock,
  type LockHandle,
} from 'klock';
import { TestKlock } from '../testing/index.js';
import { KlockTestingModule } from './klock-testing.module.js';

@Injectable()
class Invoices {
  constructor(@InjectKlock() readonly klock: Klock) {}

  @Locked('invoice:{0}', { waitMs: 2_000 })
  async close(
    _id: string,
    work: (lock: LockHandle) => void,
    @CurrentLock() lock?: LockHandle,
  ): Promise<string> {
    await Promise.resolve();
    if (lock === undefined) throw new Error('ran unlocked');
    work(lock);
    return 'closed';
  }
}

const code = async (promise: Promise<unknown>): Promise<unknown> =>
  await promise.catch((error: { code: string }) => error.code);

describe('KlockTestingModule', () => {
  let app: INestApplicationContext | undefined;
  afterEach(() => app?.close());

  it('stands in for KlockModule: busy keys, waits and losses as the test wants them', async () => {
    const locks = new TestKlock({ ttlMs: 1_000 });
    app = await Test.createTestingModule({
      imports: [KlockTestingModule.forRoot(locks)],
      providers: [Invoices],
    }).compile();
    const invoices = app.get(Invoices);
    expect(await invoices.close('1', () => undefined)).toBe('closed');

    const elsewhere = await locks.another().klock.acquire('invoice:1');
    const waiting = code(invoices.close('1', () => undefined));
    await locks.advance(2_000);
    expect(await waiting).toBe('LOCK_TIMEOUT');
    await elsewhere.release();

    expect(await code(invoices.close('1', (lock) => locks.lose(lock)))).toBe('LOCK_LOST');
    locks.dropNextReply();
    expect(await code(invoices.close('1', () => undefined))).toBe('LOCK_UNAVAILABLE');
    expect(app.get(TestKlock)).toBe(locks);
    expect(invoices.klock).toBe(locks.klock);
  });

  it('makes a TestKlock of its own when it is given none', async () => {
    app = await Test.createTestingModule({
      imports: [KlockTestingModule.forRoot()],
      providers: [Invoices],
    }).compile();
    expect(app.get(TestKlock).klock).toBe(app.get<Klock>(getKlockToken()));
    expect(await app.get(Invoices).close('1', () => undefined)).toBe('closed');
  });

  it('replaces every instance of an application that imports KlockModule, without opening a back end', async () => {
    let made = 0;
    const unreachable = (): { url: string } => {
      made++;
      return { url: 'klock://lock.invalid:1' };
    };
    @Injectable()
    class Both {
      constructor(
        @InjectKlock() readonly one: Klock,
        @Inject(getKlockToken('audit')) readonly audit: Klock,
      ) {}
      @Locked('k', { use: 'audit' })
      async audited(): Promise<boolean> {
        return await this.one.isLocked('k');
      }
    }
    @Module({
      imports: [
        KlockModule.forRootAsync({ useFactory: unreachable }),
        KlockModule.forRoot({ url: 'klock://lock.invalid:1', name: 'audit' }),
        KlockModule.forFeature({ prefix: 'billing' }),
      ],
      providers: [Invoices, Both],
    })
    class AppModule {}
    const locks = new TestKlock();
    app = await KlockTestingModule.override(
      Test.createTestingModule({ imports: [AppModule] }),
      locks,
    ).compile();
    const fetched = locks.klock.acquire('billing/invoice:7');
    const held = await fetched;
    const waiting = code(app.get(Invoices).close('7', () => undefined));
    await locks.advance(2_000);
    expect(await waiting).toBe('LOCK_TIMEOUT');
    await held.release();
    expect(await app.get(Both).audited()).toBe(true);
    expect(made).toBe(0);
  });

  it('[B-061] binds what a factory made when the application is initialised, and says so before', async () => {
    const made = {
      provide: Invoices,
      useFactory: (klock: Klock) => new Invoices(klock),
      inject: [getKlockToken()],
    };
    const module = await Test.createTestingModule({
      imports: [KlockTestingModule.forRoot()],
      providers: [made],
    }).compile();
    app = module;
    await expect(module.get(Invoices).close('1', () => undefined)).rejects.toThrow(/from app\.init\(\) on/);
    await module.init();
    expect(await module.get(Invoices).close('1', () => undefined)).toBe('closed');
  });

  it('closes with the application, although a body never ends', async () => {
    const locks = new TestKlock();
    const own = await Test.createTestingModule({
      imports: [KlockTestingModule.forRoot(locks)],
      providers: [Invoices],
    }).compile();
    void own.get<Klock>(getKlockToken()).withLock('k', () => new Promise(() => undefined));
    await own.close();
    expect(await locks.another().klock.tryAcquire('k')).toBeDefined();
  });
});

describe('bindLocks', () => {
  it('[B-061] gives an object built by hand its locks, which refuses to run without', async () => {
    const locks = new TestKlock();
    const bare = new Invoices(locks.klock);
    expect(await code(bare.close('1', () => undefined))).toBe('NOT_INITIALIZED');
    const invoices = bindLocks(bare, locks.klock);
    expect(invoices).toBe(bare);
    expect(await invoices.close('1', () => undefined)).toBe('closed');
    // The next test binds it to its own.
    const next = new TestKlock();
    bindLocks(invoices, next.klock);
    await locks.close();
    expect(await invoices.close('1', () => undefined)).toBe('closed');
    await next.close();
  });

  it('refuses what is no object or no klock, and names the instance a method misses', async () => {
    const locks = new TestKlock({ name: 'other' });
    expect(() => bindLocks(undefined as never, locks.klock)).toThrow(/object must be/);
    expect(() => bindLocks(new Invoices(locks.klock), {} as Klock)).toThrow(/klock must be/);
    const call = bindLocks(new Invoices(locks.klock), locks.klock).close('1', () => undefined);
    await expect(call).rejects.toThrow(/needs the klock instance "default".*there are: other/);
    await locks.close();
  });
});
