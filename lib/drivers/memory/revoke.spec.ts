import { createKlock, FakeClock, LockLostError, settle, type KlockInstance } from '../../core/index.js';
import { memoryDriver, memoryStore, MemoryStore } from './index.js';

describe('revoke in one process', () => {
  const opened: KlockInstance[] = [];
  let store: MemoryStore;
  const client = (clientName?: string): KlockInstance => {
    const klock = createKlock({ driver: memoryDriver({ store }), ...(clientName && { clientName }) });
    opened.push(klock);
    return klock;
  };

  beforeEach(() => (store = memoryStore()));
  afterEach(() => Promise.all(opened.splice(0).map((klock) => klock.close())));

  it('[B-081] [I10] the loss is performed before the next waiter’s promise resolves', async () => {
    const [holder, waiter, operator] = [client(), client(), client()];
    const lock = await holder.acquire('k');
    const order: string[] = [];
    lock.signal.addEventListener('abort', () => order.push('lost'));
    const next = waiter.acquire('k').then((granted) => {
      order.push(`granted, first held: ${lock.held}`);
      return granted;
    });
    await settle();
    const asked = operator.revoke('k');
    expect(order).toEqual(['lost']);
    expect((await asked).ended).toMatchObject([{ key: ['k'], fence: lock.fence }]);
    expect((await next).fence).toBeGreaterThan(lock.fence);
    expect(order).toEqual(['lost', 'granted, first held: false']);
  });

  it('[B-081] a section whose lock is revoked hears it by its signal, and ends with LockLostError and its result', async () => {
    const klock = client('worker');
    const heard: unknown[] = [];
    const section = klock.withLock('k', async ({ signal }) => {
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => {
          heard.push((signal.reason as { reason?: string }).reason);
          resolve();
        });
      });
      return 'done';
    });
    await settle();
    await klock.revoke('k');
    const error: unknown = await section.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ reason: 'revoked', lossCode: 'REVOKED', result: 'done' });
    expect(heard).toEqual(['revoked']);
  });

  it('[B-081] [I12] what was revoked leaves nothing: the session rests and the key is free for good', async () => {
    const clock = new FakeClock();
    store = new MemoryStore(clock);
    const klock = createKlock({ driver: memoryDriver({ store }), clock });
    opened.push(klock);
    for (let turn = 0; turn < 50; turn++) {
      const lock = await klock.acquire('k');
      await klock.revoke('k');
      expect(await lock.release()).toBe('lost');
    }
    await clock.advance(61_000);
    expect(await klock.driver.holders?.({})).toEqual({ holders: [], more: false });
    expect(store['engine'].stats()).toMatchObject({ sessions: 0, locks: 0, waiters: 0, kept: 0, trees: 0 });
  });

  it('[B-081] lists who holds anything, the longest held first', async () => {
    const [a, b] = [client('a'), client('b')];
    await a.acquire(['t', 'x'], { metadata: { job: '1' } });
    await b.acquire('u');
    void b.acquire(['t', 'x'], { waitMs: Infinity }).catch(() => undefined);
    await settle();
    const { holders, more } = (await a.driver.holders?.({})) ?? { holders: [], more: true };
    expect(holders).toMatchObject([
      { key: ['t', 'x'], client: 'a', metadata: { job: '1' }, waiters: 1 },
      { key: ['u'], client: 'b', waiters: 0 },
    ]);
    expect(more).toBe(false);
    const first = await a.driver.holders?.({ limit: 1 });
    expect([first?.holders.length, first?.more]).toEqual([1, true]);
    const second = await a.driver.holders?.({ limit: 1, afterFence: holders[0]?.fence ?? 0n });
    expect([second?.holders[0]?.key, second?.more]).toEqual([['u'], false]);
  });
});
