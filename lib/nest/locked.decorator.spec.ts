/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { jest } from '@jest/globals';
import { CurrentFence, CurrentLock } from './current-lock.decorator.js';
import { Locked } from './locked.decorator.js';
import type { LockedOptions } from './locked-options.js';
import { boundTo, openKlock, rejection, thrown } from './locked.spec-support.js';
import { isLockError, type KlockInstance, type LockHandle, type LockLostError } from '../core/index.js';
import { ScriptedDriver } from '../core/scripted-driver.js';
import type { FakeClock } from '../core/fake-clock.js';

let clock: FakeClock;
let klock: KlockInstance;

beforeEach(() => {
  ({ clock, klock } = openKlock());
});

function deferred<T>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

describe('a decorated method', () => {
  it('runs while its lock is held, gets the handle and the fence, and returns its result', async () => {
    class Service {
      @Locked('k:{0}')
      async m(
        id: string,
        @CurrentLock() lock?: LockHandle,
        @CurrentFence() fence?: bigint,
      ): Promise<unknown[]> {
        return [
          id,
          lock?.held,
          lock?.key,
          fence === lock?.fence && typeof fence,
          await klock.isLocked('k:a'),
        ];
      }
    }
    expect(await boundTo(new Service(), klock).m('a')).toEqual(['a', true, ['k:a'], 'bigint', true]);
    expect(await klock.isLocked('k:a')).toBe(false);
  });

  it('overwrites what a caller passes in the place of the lock', async () => {
    class Service {
      @Locked('k')
      async m(@CurrentLock() lock?: LockHandle): Promise<boolean> {
        return lock?.held === true;
      }
    }
    expect(await boundTo(new Service(), klock).m({ held: false } as LockHandle)).toBe(true);
  });

  it('[B-009] uses its key as it is: methods of different classes with the same key exclude each other', async () => {
    const open = deferred<string>();
    class X {
      @Locked('invoice:{0}')
      async m(_id: number): Promise<string> {
        return await open.promise;
      }
    }
    class Y {
      @Locked('invoice:{0}', { waitMs: 0 })
      async n(_id: number): Promise<string> {
        return 'ran';
      }
    }
    const running = boundTo(new X(), klock).m(1);
    expect(isLockError(await rejection(boundTo(new Y(), klock).n(1)), 'LOCK_TIMEOUT')).toBe(true);
    expect(await boundTo(new Y(), klock).n(2)).toBe('ran');
    open.resolve('done');
    expect(await running).toBe('done');
    expect(await boundTo(new Y(), klock).n(1)).toBe('ran');
  });

  it('[B-009] runs calls whose parts only look alike in parallel', async () => {
    const open = deferred<void>();
    let running = 0;
    class Service {
      @Locked('user:{0}:{1}', { waitMs: 0 })
      async f(_a: string, _b: string): Promise<void> {
        running++;
        await open.promise;
      }
    }
    const service = boundTo(new Service(), klock);
    const calls = [service.f('a:b', 'c'), service.f('a', 'b:c')];
    await clock.advance(0);
    expect(running).toBe(2);
    open.resolve();
    await Promise.all(calls);
  });

  it('takes two templates or a function for a key of two levels', async () => {
    class Service {
      @Locked('tenant:{0.tenant}', 'invoice:{0.id}')
      async byTemplates(_ref: { tenant: string; id: number }): Promise<unknown> {
        return klock.current()?.key;
      }
      @Locked((ref: { tenant: string; id: number }) => [ref.tenant, `${ref.id}`])
      async byFunction(_ref: { tenant: string; id: number }): Promise<unknown> {
        return klock.current()?.key;
      }
    }
    const service = boundTo(new Service(), klock);
    expect(await service.byTemplates({ tenant: 't', id: 1 })).toEqual(['tenant:t', 'invoice:1']);
    expect(await service.byFunction({ tenant: 't', id: 1 })).toEqual(['t', '1']);
  });

  it("[B-074] is not run when its key cannot be made; the key function's own error passes through", async () => {
    const body = jest.fn();
    const own = new Error('mine');
    class Service {
      @Locked('user:{0.userId}')
      async template(_dto: unknown): Promise<void> {
        body();
      }
      @Locked(((dto: { id: unknown }) => dto.id) as never)
      async fn(_dto: unknown): Promise<void> {
        body();
      }
      @Locked(() => {
        throw own;
      })
      async throws(): Promise<void> {
        body();
      }
    }
    const service = boundTo(new Service(), klock);
    const unresolved = await rejection(service.template({}));
    expect(unresolved).toMatchObject({ code: 'KEY_UNRESOLVED' });
    expect((unresolved as Error).message).toContain('{0.userId} of Service.template');
    for (const id of [
      undefined,
      null,
      '',
      NaN,
      7,
      {},
      [],
      [''],
      ['a', undefined],
      Promise.resolve('k'),
      Promise.reject(own),
    ]) {
      const error = await rejection(service.fn({ id }));
      expect(error).toMatchObject({ code: 'KEY_UNRESOLVED' });
      expect((error as Error).message).toContain('Service.fn');
    }
    expect(await rejection(service.fn({ id: ['a', 'b', 'c'] }))).toMatchObject({ code: 'INVALID_KEY' });
    expect(await rejection(service.throws())).toBe(own);
    expect(body).not.toHaveBeenCalled();
  });

  it('[B-074] is not run where its key function wrote down a value that was not there, or is async', async () => {
    const body = jest.fn();
    class Service {
      @Locked((dto: { id: string }) => `user:${dto.id}`)
      async one(_dto: { id: string }): Promise<void> {
        body();
      }
      @Locked((dto: { id: string }) => ['tenant', `${dto.id}:user`])
      async two(_dto: { id: string }): Promise<void> {
        body();
      }
    }
    const service = boundTo(new Service(), klock);
    for (const id of [undefined, null, NaN, {}, new Map(), 'undefined']) {
      for (const method of ['one', 'two'] as const) {
        const error = await rejection(service[method]({ id } as never));
        expect([id, error]).toEqual([id, expect.objectContaining({ code: 'KEY_UNRESOLVED' })]);
        expect((error as Error).message).toContain(`Service.${method}`);
      }
    }
    expect(body).not.toHaveBeenCalled();
    for (const id of [0, 10n, 'null@example.org', 'undefined-behaviour', 'mrs null', false])
      await service.one({ id } as never);
    expect(body).toHaveBeenCalledTimes(6);
    expect(() => {
      class Async {
        @Locked((async (dto: { id: string }) => dto.id) as never)
        async m(_dto: unknown): Promise<void> {}
      }
      return Async;
    }).toThrow(/key function of Async\.m is async; key functions are synchronous/);
  });

  it('resolves its key from the arguments as they were at the call', async () => {
    class Service {
      @Locked('k:{0.id}')
      async m(_dto: { id: string }): Promise<unknown> {
        return klock.current()?.key;
      }
    }
    const dto = { id: 'before' };
    const call = boundTo(new Service(), klock).m(dto);
    dto.id = 'after';
    expect(await call).toEqual(['k:before']);
  });
});

describe('options of @Locked', () => {
  it('[B-005] are refused when the class is defined, naming method, option and value', () => {
    const define = (options: unknown): unknown =>
      thrown(() => {
        class Service {
          @Locked('k', options as LockedOptions)
          async m(): Promise<void> {}
        }
        return Service;
      });
    for (const value of [0, -1, NaN, Infinity, -Infinity, 123.45, '5000', null, 1e21, 10n, true]) {
      for (const option of ['ttlMs', 'localTtlMs', 'maxHoldMs', 'atLeastMs']) {
        const error = define({ [option]: value });
        expect(error).toMatchObject({ code: 'INVALID_OPTION', option, value });
        expect((error as Error).message).toMatch(new RegExp(`Service\\.m: ${option} must be .*, got `));
      }
    }
    for (const waitMs of [-1, NaN, 0.5, '0', null])
      expect(define({ waitMs })).toMatchObject({ option: 'waitMs' });
    const words = { onBusy: 'run', onUnavailable: 'run', onLost: 'skip', reentry: 'yes', renew: 1, use: '' };
    for (const [option, value] of Object.entries(words))
      expect(define({ [option]: value })).toMatchObject({ option, value });
    expect(define({ tllMs: 5 })).toMatchObject({ option: 'tllMs', code: 'INVALID_OPTION' });
    for (const options of [null, 5, []]) expect(define(options)).toMatchObject({ code: 'INVALID_OPTION' });
    const surplus = (Locked as (...args: unknown[]) => MethodDecorator)('a', 'b', {}, {});
    expect(thrown(() => surplus({}, 'm', { value: () => 0 }))).toMatchObject({ code: 'INVALID_OPTION' });
  });

  it('[B-005] take 0 and Infinity for waitMs', () => {
    class Service {
      @Locked('k', { waitMs: 0 })
      async once(): Promise<void> {}
      @Locked('k', { waitMs: Infinity, ttlMs: undefined })
      async forEver(): Promise<void> {}
    }
    expect(new Service()).toBeDefined();
  });

  it('skip the body of a busy key and resolve undefined with onBusy: skip', async () => {
    const held = await klock.acquire('job');
    const body = jest.fn();
    class Jobs {
      @Locked('job', { waitMs: 0, onBusy: 'skip' })
      async run(): Promise<string> {
        body();
        return 'ran';
      }
      @Locked('job', { waitMs: 0 })
      async must(): Promise<void> {
        body();
      }
    }
    const jobs = boundTo(new Jobs(), klock);
    expect(await jobs.run()).toBeUndefined();
    expect(isLockError(await rejection(jobs.must()), 'LOCK_TIMEOUT')).toBe(true);
    expect(body).not.toHaveBeenCalled();
    await held.release();
    expect(await jobs.run()).toBe('ran');
  });

  it('never take a busy lock inside the body for a busy lock of the method', async () => {
    const held = await klock.acquire('inner');
    class Jobs {
      @Locked('outer', { onBusy: 'skip' })
      async run(): Promise<void> {
        await klock.acquire('inner', { waitMs: 0 });
      }
    }
    expect(isLockError(await rejection(boundTo(new Jobs(), klock).run()), 'LOCK_TIMEOUT')).toBe(true);
    await held.release();
  });

  it('keep a key for atLeastMs although the body was short', async () => {
    class Jobs {
      @Locked('job', { waitMs: 0, onBusy: 'skip', atLeastMs: 500 })
      async run(): Promise<string> {
        return 'ran';
      }
    }
    const jobs = boundTo(new Jobs(), klock);
    expect(await jobs.run()).toBe('ran');
    await clock.advance(400);
    expect(await jobs.run()).toBeUndefined();
    await clock.advance(200);
    expect(await jobs.run()).toBe('ran');
  });
});

describe('a store that is down', () => {
  const unavailable = async (options: LockedOptions): Promise<unknown[]> => {
    const driver = new ScriptedDriver();
    const { klock: down } = openKlock({ driver });
    const { LockUnavailableError } = await import('../core/index.js');
    driver.onAcquire = () => Promise.reject(new LockUnavailableError('no answer'));
    const ran: unknown[] = [];
    class Service {
      @Locked('k', options)
      async m(@CurrentLock() lock?: LockHandle, @CurrentFence() fence?: bigint): Promise<string> {
        ran.push([lock, fence]);
        return 'ran';
      }
    }
    const result: unknown = await boundTo(new Service(), down)
      .m()
      .catch((error: unknown) => (isLockError(error) ? error.code : error));
    return [result, ran];
  };

  it('[B-060] means that the body does not run, unless running it unlocked was asked for by name', async () => {
    expect(await unavailable({})).toEqual(['LOCK_UNAVAILABLE', []]);
    expect(await unavailable({ onBusy: 'skip', onLost: 'ignore' })).toEqual(['LOCK_UNAVAILABLE', []]);
    expect(await unavailable({ onUnavailable: 'skip' })).toEqual([undefined, []]);
    expect(await unavailable({ onUnavailable: 'run-unlocked' })).toEqual(['ran', [[undefined, undefined]]]);
  });
});

describe('the end of a decorated method', () => {
  const scripted = (): { driver: ScriptedDriver; down: KlockInstance; own: FakeClock } => {
    const driver = new ScriptedDriver();
    const opened = openKlock({ driver, releaseTimeoutMs: 1_000 });
    return { driver, down: opened.klock, own: opened.clock };
  };

  it('[B-077] is its result although the release was not held or is not answered, which becomes an event', async () => {
    for (const answer of ['lost', 'already-released'] as const) {
      const { driver, down } = scripted();
      driver.onRelease = () => answer;
      class Service {
        @Locked('k')
        async m(): Promise<number> {
          return 7;
        }
      }
      expect(await boundTo(new Service(), down).m()).toBe(7);
    }
    const { driver, down, own } = scripted();
    const failed = jest.fn();
    down.on('release.failed', failed);
    driver.onRelease = () => new Promise(() => undefined);
    const e1 = new Error('E1');
    class Hanging {
      @Locked('a')
      async returns(): Promise<number> {
        return 7;
      }
      @Locked('b')
      async throws(): Promise<number> {
        throw e1;
      }
    }
    const service = boundTo(new Hanging(), down);
    const both = Promise.all([service.returns(), rejection(service.throws())]);
    await own.advance(1_001);
    expect(await both).toEqual([7, e1]);
    expect(failed).toHaveBeenCalledTimes(2);
  });

  it('[B-077] rejects with LockLostError carrying the result if the lock was lost meanwhile; onLost: ignore resolves it; an error of the body always wins', async () => {
    const { driver, down, own } = scripted();
    driver.onRenew = () => ({ outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' });
    const e1 = new Error('E1');
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void own.after(ms, resolve));
    class Service {
      @Locked('a')
      async returns(): Promise<number> {
        await sleep(5_000);
        return 7;
      }
      @Locked('b', { onLost: 'ignore' })
      async ignores(): Promise<number> {
        await sleep(5_000);
        return 7;
      }
      @Locked('c')
      async throws(): Promise<number> {
        await sleep(5_000);
        throw e1;
      }
    }
    const service = boundTo(new Service(), down);
    const all = Promise.all([rejection(service.returns()), service.ignores(), rejection(service.throws())]);
    await own.advance(6_000);
    const [lost, ignored, threw] = await all;
    expect(isLockError(lost, 'LOCK_LOST')).toBe(true);
    expect(lost).toMatchObject({ result: 7, reason: 'session-gone', lossCode: 'SESSION_GONE' });
    expect((lost as LockLostError).message).toContain('Service.returns');
    expect(ignored).toBe(7);
    expect(threw).toBe(e1);
  });

  it('[B-079] passes on the very value the body rejected with, and the lock is free at once', async () => {
    const frozen: Error = Object.freeze(new Error('frozen'));
    class Service {
      @Locked('k')
      throwsAtOnce(): Promise<void> {
        throw frozen;
      }
      @Locked('k')
      async rejects(value: unknown): Promise<void> {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- any value is passed on
        await Promise.reject(value);
      }
    }
    const service = boundTo(new Service(), klock);
    expect(await rejection(service.throwsAtOnce())).toBe(frozen);
    for (const value of [frozen, undefined, null, 'text', 0]) {
      expect(await rejection(service.rejects(value))).toBe(value);
      expect(await klock.isLocked('k')).toBe(false);
    }
  });

  it('[B-079] comes at maxHoldMs for a body that never settles: its signal aborts, the call rejects, the key is free', async () => {
    let signal: AbortSignal | undefined;
    class Service {
      @Locked('k', { maxHoldMs: 2_000 })
      async hangs(@CurrentLock() lock?: LockHandle): Promise<void> {
        signal = lock?.signal;
        await new Promise(() => undefined);
      }
    }
    const call = rejection(boundTo(new Service(), klock).hangs());
    await clock.advance(1_999);
    expect(signal?.aborted).toBe(false);
    await clock.advance(2);
    expect(await call).toMatchObject({ code: 'LOCK_LOST', reason: 'max-hold' });
    expect(signal?.aborted).toBe(true);
    expect(await klock.isLocked('k')).toBe(false);
  });

  it('[B-079] warns of a body that goes on for many leases without maxHoldMs', async () => {
    const warned = jest.fn();
    klock.on('lock.long-held', warned);
    const open = deferred<void>();
    class Service {
      @Locked('k', { ttlMs: 1_000 })
      async long(): Promise<void> {
        await open.promise;
      }
    }
    const call = boundTo(new Service(), klock).long();
    await clock.advance(20_000);
    expect(warned).toHaveBeenCalledTimes(1);
    open.resolve();
    await call;
  });
});

describe('nested calls', () => {
  class Service {
    ran: string[] = [];
    constructor(private readonly later: (run: () => void) => void = () => undefined) {}
    @Locked('k', { waitMs: 30_000 })
    async a(): Promise<unknown> {
      return await this.b();
    }
    @Locked('k')
    async b(): Promise<void> {
      this.ran.push('b');
    }
    @Locked('k', { reentry: 'count' })
    async counted(@CurrentLock() lock?: LockHandle): Promise<unknown> {
      return [lock?.fence, klock.current('k')?.fence];
    }
    @Locked('k')
    async outer(@CurrentLock() lock?: LockHandle): Promise<unknown> {
      const inner = (await this.counted()) as unknown[];
      return [lock?.fence === inner[0], lock?.held];
    }
    @Locked('k')
    async parallel(): Promise<unknown[]> {
      return await Promise.all(
        [this.slow(), this.slow()].map((call) =>
          call.then(
            () => 'ok',
            (e: { code?: string }) => e.code,
          ),
        ),
      );
    }
    @Locked('k', { reentry: 'count' })
    async slow(): Promise<void> {
      await Promise.resolve();
    }
    @Locked('k')
    async timer(done: (call: Promise<void>) => void): Promise<void> {
      this.later(() => done(this.b()));
    }
  }

  it('[B-078] on the same key are refused at once, naming both methods', async () => {
    const service = boundTo(new Service(), klock);
    const error = await rejection(service.a());
    expect(error).toMatchObject({ code: 'LOCK_REENTRY' });
    expect((error as Error).message).toMatch(/Service\.b.*Service\.a/);
    expect(service.ran).toEqual([]);
    expect(await klock.isLocked('k')).toBe(false);
  });

  it('[B-078] share the grant with reentry: count, until the outer one ends', async () => {
    expect(await boundTo(new Service(), klock).outer()).toEqual([true, true]);
    expect(await klock.isLocked('k')).toBe(false);
  });

  it('[B-078] in two branches at once are refused for the second branch', async () => {
    expect((await boundTo(new Service(), klock).parallel()).sort()).toEqual(['LOCK_REENTRY', 'ok']);
  });

  it('[B-078] that start when the outer call has ended acquire as usual', async () => {
    // A real timer: it takes the async context of the call along, as a fake clock's would not.
    const service = boundTo(new Service((run) => void setTimeout(run, 0)), klock);
    const inner = deferred<void>();
    await service.timer((call) => void call.then(inner.resolve, inner.reject));
    await inner.promise;
    expect(service.ran).toEqual(['b']);
  });

  it('[B-078] that wait for each other end by waitMs', async () => {
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
    class Abba {
      @Locked('k1')
      async x(): Promise<void> {
        await sleep(10);
        await this.k2();
      }
      @Locked('k2')
      async y(): Promise<void> {
        await sleep(10);
        await this.k1();
      }
      @Locked('k1', { waitMs: 300 })
      async k1(): Promise<void> {}
      @Locked('k2', { waitMs: 300 })
      async k2(): Promise<void> {}
    }
    const service = boundTo(new Abba(), klock);
    const ends = Promise.allSettled([service.x(), service.y()]);
    await clock.advance(1_000);
    const codes = (await ends).map((end) =>
      end.status === 'rejected' ? (end.reason as { code: string }).code : 'ok',
    );
    expect(codes).toContain('LOCK_TIMEOUT');
  });
});

describe('an object no application knows', () => {
  class Lonely {
    ran = false;
    @Locked('k')
    async m(): Promise<void> {
      this.ran = true;
    }
  }

  it('[B-061] does not run the body, and says which method and which import is missing', async () => {
    const lonely = new Lonely();
    const error = await rejection(lonely.m());
    expect(error).toMatchObject({ code: 'NOT_INITIALIZED', name: 'NotInitializedError' });
    expect((error as Error).message).toMatch(/Lonely\.m.*KlockModule/s);
    expect(lonely.ran).toBe(false);
  });

  it('refuses a method torn from its object', async () => {
    const { m } = new Lonely() as unknown as { m: (this: void) => Promise<void> };
    expect(await rejection(m())).toMatchObject({ code: 'NOT_INITIALIZED' });
  });

  it('refuses an instance that was never registered', async () => {
    class Other {
      @Locked('k', { use: 'orders' })
      async m(): Promise<void> {}
    }
    const error = await rejection(boundTo(new Other(), klock).m());
    expect(error).toMatchObject({ code: 'NOT_INITIALIZED' });
    expect((error as Error).message).toMatch(/Other\.m.*"orders".*default/);
  });

  it('shows its application in no comparison, log or copy', () => {
    const bound = boundTo(new Lonely(), klock);
    expect(bound).toEqual(new Lonely());
    expect(Reflect.ownKeys({ ...bound })).toEqual(['ran']);
  });

  it('may be frozen, and may be seen through a proxy', async () => {
    class Plain {
      @Locked('k')
      async m(): Promise<string> {
        return 'ran';
      }
    }
    const frozen = boundTo(Object.freeze(new Plain()), klock);
    expect(await frozen.m()).toBe('ran');
    const proxy = new Proxy(boundTo(new Lonely(), klock), {});
    await proxy.m();
    expect(proxy.ran).toBe(true);
  });
});
