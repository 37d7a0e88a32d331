import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createKlock,
  LATER,
  type DriverAcquire,
  type DriverGrant,
  type KlockInstance,
  type LockEvent,
  type ReleaseReader,
} from './index.js';
import { FakeClock } from './fake-clock.js';
import { ScriptedDriver } from './scripted-driver.js';

/** A driver that tells a request its answer later, instead of promising it. */
describe('an acquire whose answer is told later', () => {
  let clock: FakeClock;
  let store: ScriptedDriver;
  let klock: KlockInstance;
  let asked: DriverAcquire[];

  beforeEach(() => {
    clock = new FakeClock();
    store = new ScriptedDriver();
    asked = [];
    store.onAcquire = (request) => (asked.push(request), LATER);
    klock = createKlock({ driver: store, clock, ttlMs: 1_000, waitMs: 5_000 });
  });

  const first = 0;
  const request = (index: number): DriverAcquire => asked[index] as DriverAcquire;

  it('resolves with the handle of the grant', async () => {
    const acquiring = klock.acquire('k');
    request(first).settle?.(store.grant(request(first)));
    expect(await acquiring).toMatchObject({ fence: 1n, held: true });
  });

  it('rejects when the answer is that others hold; tryAcquire has no handle then', async () => {
    const acquiring = klock.acquire('k');
    request(0).settle?.({ granted: false, holder: 'somebody' });
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_TIMEOUT', holder: 'somebody' });
    const trying = klock.tryAcquire('k');
    request(1).settle?.({ granted: false });
    expect(await trying).toBeUndefined();
  });

  it('rejects with what the driver failed with', async () => {
    const acquiring = klock.acquire('k');
    const broken = new Error('broken');
    request(first).fail?.(broken);
    await expect(acquiring).rejects.toBe(broken);
  });

  it('[B-015] gives back a grant whose lease was over before it was told', async () => {
    const acquiring = klock.acquire('k');
    store.onRenew = () => ({ outcome: 'failed', cause: new Error('no answer') });
    const grant = store.grant(request(first));
    await clock.advance(1_001);
    request(first).settle?.(grant);
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it.each(['a promise', 'a listener'])(
    '[D2] is judged by the clocks of the turn in which it is read, whatever they showed when it was decided: %s',
    async (why) => {
      if (why === 'a listener') klock.on('lock.granted', () => undefined);
      else store.onAcquire = (given) => (asked.push(given), new Promise((resolve) => (promised = resolve)));
      let promised: (grant: DriverGrant) => void = () => undefined;
      const acquiring = klock.acquire('k');
      const grant = { ...store.grant(request(first)), decidedAt: clock.now() };
      if (why === 'a listener') request(first).settle?.(grant);
      else promised(grant);
      // The process stands still before whoever waits is called.
      clock.block(1_001);
      await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_LOST' });
    },
  );

  it('[D4] is asked again under a new id where the grant of its own has ended', async () => {
    const acquiring = klock.acquire('k');
    store.onAcquire = (again) => (asked.push(again), Promise.resolve(store.grant(again)));
    request(0).settle?.({ granted: false, conflict: true });
    expect((await acquiring).held).toBe(true);
    expect(request(1).requestId).not.toBe(request(0).requestId);
  });

  it('tells listeners of it in the asynchronous context of its caller', async () => {
    const context = new AsyncLocalStorage<string>();
    const heard: (string | undefined)[] = [];
    const hear = (_: LockEvent): unknown => heard.push(context.getStore());
    klock.on('lock.granted', hear);
    klock.on('acquire.failed', hear);
    const [granted, failed] = context.run(
      'request 7',
      () => [klock.acquire('a'), klock.acquire('b')] as const,
    );
    context.run('the socket', () => {
      request(0).settle?.(store.grant(request(0)));
      request(1).fail?.(new Error('broken'));
    });
    await Promise.allSettled([granted, failed]);
    expect(heard).toEqual(['request 7', 'request 7']);
  });
});

/** A driver that tells the outcome of a release later. */
describe('a release whose outcome is told later', () => {
  let clock: FakeClock;
  let store: ScriptedDriver;
  let klock: KlockInstance;
  let reader: ReleaseReader | undefined;

  beforeEach(() => {
    clock = new FakeClock();
    store = new ScriptedDriver();
    store.onRelease = (_, given) => ((reader = given), LATER);
    klock = createKlock({ driver: store, clock, ttlMs: 1_000 });
  });

  it('resolves with it, and a repeat of the release asks nobody again', async () => {
    const lock = await klock.acquire('k');
    const releasing = [lock.release(), lock.release()];
    reader?.givenBack('released');
    expect(await Promise.all(releasing)).toEqual(['released', 'already-released']);
    expect(store.released).toEqual(['token-1']);
  });

  it('resolves as unknown when nothing is told in time', async () => {
    const lock = await klock.acquire('k');
    const releasing = lock.release({ timeoutMs: 50 });
    await clock.advance(50);
    expect(await releasing).toBe('unknown');
    reader?.givenBack('lost');
    expect(await lock.release()).toBe('unknown');
  });

  it('is waited for by an owner that gives everything back', async () => {
    const owner = klock.owner();
    await klock.acquire('k', { owner });
    let back = false;
    const giving = owner[Symbol.asyncDispose]().then(() => (back = true));
    await Promise.resolve();
    expect(back).toBe(false);
    reader?.givenBack('released');
    await giving;
    expect(back).toBe(true);
  });

  it('is asked to be promised where somebody listens, in the asynchronous context of who released', async () => {
    const context = new AsyncLocalStorage<string>();
    const heard: (string | undefined)[] = [];
    klock.on('lock.released', () => heard.push(context.getStore()));
    const lock = await klock.acquire('k');
    let answer: (outcome: 'released') => void = () => undefined;
    store.onRelease = (_, given) => ((reader = given), new Promise((resolve) => (answer = resolve)));
    const releasing = context.run('request 7', () => lock.release());
    context.run('the socket', () => answer('released'));
    await releasing;
    expect([reader, heard]).toEqual([undefined, ['request 7']]);
  });
});
