import { getEventListeners } from 'node:events';
import { isLockError } from '../core/index.js';
import { TwoLevelLock, type Unlock } from './index.js';

async function outcome(promise: Promise<Unlock>): Promise<'waits' | 'held'> {
  let held: 'waits' | 'held' = 'waits';
  void promise.then(() => (held = 'held'));
  await new Promise((resolve) => setImmediate(resolve));
  return held;
}

describe('TwoLevelLock', () => {
  it('[K-022] [K-003] locks in process without server or client, one holder of a key after the other', async () => {
    const locks = new TwoLevelLock();
    const order: number[] = [];
    const work = async (n: number): Promise<void> => {
      const unlock = await locks.acquire(['tenant', 'stock']);
      order.push(n);
      await new Promise((resolve) => setImmediate(resolve));
      order.push(n);
      unlock();
    };
    await Promise.all([1, 2, 3].map(work));
    expect(order).toEqual([1, 1, 2, 2, 3, 3]);
    expect(locks.size).toEqual({ held: 0, waiting: 0 });
  });

  it('[K-001] [K-023] waits for itself when its own key is asked again, until its signal ends the wait with its reason', async () => {
    const locks = new TwoLevelLock();
    const unlock = await locks.acquire('t');
    const abort = new AbortController();
    const again = locks.acquire('t', abort.signal);
    const below = locks.acquire(['t', 'x'], abort.signal);
    expect([await outcomeOrError(again), await outcomeOrError(below)]).toEqual(['waits', 'waits']);
    const reason = new Error('enough');
    abort.abort(reason);
    for (const wait of [again, below]) {
      const error: unknown = await wait.catch((caught: unknown) => caught);
      expect(isLockError(error, 'LOCK_ABORTED')).toBe(true);
      expect((error as Error).cause).toBe(reason);
    }
    expect(locks.size).toEqual({ held: 1, waiting: 0 });
    unlock();
    expect(locks.size).toEqual({ held: 0, waiting: 0 });
  });

  it('[K-015] fails with an already ended signal although the key is free, and leaves nothing', async () => {
    const locks = new TwoLevelLock();
    await expect(locks.acquire('t', AbortSignal.abort())).rejects.toMatchObject({ code: 'LOCK_ABORTED' });
    expect(locks.size).toEqual({ held: 0, waiting: 0 });
  });

  it('[K-022] [K-016] refuses a signal that is none, by name and value, and leaves nothing in line', async () => {
    const locks = new TwoLevelLock();
    const unlock = await locks.acquire('t');
    for (const signal of [1_000, null, {}, new AbortController()]) {
      await expect(locks.acquire('t', signal as AbortSignal)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        option: 'signal',
        value: signal,
      });
    }
    expect(locks.size).toEqual({ held: 1, waiting: 0 });
    unlock();
    expect(locks.size).toEqual({ held: 0, waiting: 0 });
  });

  it('[K-014] a signal that ends after the grant takes nothing back', async () => {
    const locks = new TwoLevelLock();
    const first = await locks.acquire('t');
    const abort = new AbortController();
    const second = locks.acquire('t', abort.signal);
    first();
    abort.abort();
    await expect(second).resolves.toBeInstanceOf(Function);
    expect(locks.size).toEqual({ held: 1, waiting: 0 });
  });

  it('leaves no listener on a signal, whether the wait ended with the grant or was never needed', async () => {
    const locks = new TwoLevelLock();
    const { signal } = new AbortController();
    const first = await locks.acquire('t', signal);
    const second = locks.acquire('t', signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    first();
    await second;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('[K-017] unlocks once however often it is told to', async () => {
    const locks = new TwoLevelLock();
    const first = await locks.acquire('t');
    const second = locks.acquire('t');
    const third = locks.acquire('t');
    first();
    first();
    expect([await outcome(second), await outcome(third)]).toEqual(['held', 'waits']);
    first();
    expect(await outcome(third)).toBe('waits');
  });

  it('tries without waiting', () => {
    const locks = new TwoLevelLock();
    const unlock = locks.tryAcquire(['t', 'x']);
    expect([locks.tryAcquire('t'), locks.tryAcquire(['t', 'x'])]).toEqual([undefined, undefined]);
    unlock?.();
    expect(locks.tryAcquire('t')).toBeInstanceOf(Function);
  });

  it('refuses a key that is none, and a shard count below 0', async () => {
    const locks = new TwoLevelLock();
    await expect(locks.acquire('')).rejects.toMatchObject({ code: 'INVALID_KEY' });
    expect(() => new TwoLevelLock({ shards: -1 })).toThrow(/shards/);
  });
});

function outcomeOrError(promise: Promise<Unlock>): Promise<string> {
  promise.catch(() => undefined);
  return outcome(promise.catch(() => () => undefined));
}
