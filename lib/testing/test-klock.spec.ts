import { type LockEvent } from '../core/index.js';
import { TestKlock } from './test-klock.js';

const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
  await promise.then(
    (value) => value,
    (error: unknown) => error,
  );

describe('TestKlock', () => {
  let test: TestKlock;
  beforeEach(() => (test = new TestKlock({ ttlMs: 1_000, waitMs: 5_000 })));
  afterEach(() => test.close());

  it('grants, refuses and hands on by the real rules, without time', async () => {
    const other = test.another();
    const lock = await test.klock.acquire(['tenant', 'a']);
    expect(await other.klock.tryAcquire('tenant')).toBeUndefined();
    const waiting = other.klock.acquire('tenant');
    await lock.release();
    expect((await waiting).fence).toBeGreaterThan(lock.fence);
    await other.close();
  });

  it('lets a wait run out only when the test lets time pass', async () => {
    await test.klock.acquire('k');
    const waiting = rejection(test.another().klock.acquire('k'));
    await test.advance(4_999);
    expect(await Promise.race([waiting, Promise.resolve('still waiting')])).toBe('still waiting');
    await test.advance(1);
    expect(await waiting).toMatchObject({ code: 'LOCK_TIMEOUT' });
  });

  it('keeps a lock for as long as the test likes, since it is renewed', async () => {
    const lock = await test.klock.acquire('k');
    await test.advance(600_000);
    expect(lock.held).toBe(true);
  });

  it('loses one lock at once, for the reason the test names, and frees its key', async () => {
    const [lock, kept] = await Promise.all([test.klock.acquire('k'), test.klock.acquire('other')]);
    test.lose(lock, 'revoked');
    expect(lock.held).toBe(false);
    expect(lock.signal.aborted).toBe(true);
    expect(await lock.done).toMatchObject({ end: 'lost', reason: 'revoked' });
    expect(kept.held).toBe(true);
    expect(await test.another().klock.tryAcquire('k')).toBeDefined();
    expect(() => test.lose(lock)).toThrow(/held through this TestKlock/);
    expect(() => test.another().lose(kept)).toThrow(/held through this TestKlock/);
  });

  it('reports a loss in the middle of withLock as the real thing does', async () => {
    const work = test.klock.withLock('k', (lock) => {
      test.lose(lock);
      return 'done anyway';
    });
    expect(await rejection(work)).toMatchObject({ code: 'LOCK_LOST', result: 'done anyway' });
  });

  it('takes a lock into jeopardy and then loses it while renewals are paused, unless they are resumed in time', async () => {
    const events: LockEvent['type'][] = [];
    for (const type of ['lease.jeopardy', 'lock.lost'] as const) {
      test.klock.on(type, (event) => void events.push(event.type));
    }
    const lock = await test.klock.acquire('k');
    test.pauseRenewals();
    await test.advance(500);
    expect([events, lock.held]).toEqual([['lease.jeopardy'], true]);
    test.resumeRenewals();
    await test.advance(5_000);
    expect(lock.held).toBe(true);
    test.pauseRenewals();
    await test.advance(1_000);
    expect(lock.held).toBe(false);
    expect(await lock.done).toMatchObject({ end: 'lost', reason: 'unreachable' });
  });

  it('loses the reply to an acquire: the caller is told so, and nothing is left behind', async () => {
    test.dropNextReply('acquire');
    expect(await rejection(test.klock.acquire('k'))).toMatchObject({ code: 'LOCK_UNAVAILABLE' });
    expect(await test.klock.isLocked('k')).toBe(false);
    expect((await test.klock.acquire('k')).held).toBe(true);
  });

  it('loses the reply to a release: the outcome is unknown, and the key is free', async () => {
    const lock = await test.klock.acquire('k');
    test.dropNextReply();
    const outcome = lock.release();
    await test.advance(1_000);
    expect(await outcome).toBe('unknown');
    expect(await test.klock.isLocked('k')).toBe(false);
  });

  it('loses the reply to one renewal: jeopardy, and no more than that', async () => {
    let jeopardies = 0;
    test.klock.on('lease.jeopardy', () => void jeopardies++);
    const lock = await test.klock.acquire('k');
    test.dropNextReply('renew');
    await test.advance(10_000);
    expect([jeopardies, lock.held]).toEqual([1, true]);
  });

  it('closes although a section never ends', async () => {
    const stuck = rejection(test.klock.withLock('k', () => new Promise(() => undefined)));
    await test.close();
    expect(await test.another().klock.tryAcquire('k')).toBeDefined();
    expect(await Promise.race([stuck, Promise.resolve('still in its section')])).toBe('still in its section');
  });
});
