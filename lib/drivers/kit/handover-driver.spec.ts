import {
  LATER,
  createKlock,
  type DriverAcquire,
  type DriverBusy,
  type DriverGrant,
  type InstanceOptions,
  type KlockInstance,
  type LockHandle,
} from '../../core/index.js';
import { FakeClock, settle } from '../../core/fake-clock.js';
import { ScriptedDriver } from '../../core/scripted-driver.js';
import { HandoverDriver } from './handover-driver.js';

let clock: FakeClock;
let store: ScriptedDriver;
let driver: HandoverDriver;
let klock: KlockInstance;
let asked: { readonly requestId: string; readonly span: number; readonly waitMs: number }[];

/** What the store was asked, as it was when it was asked. */
const note = ({ requestId, span = 1, waitMs }: DriverAcquire): unknown =>
  asked.push({ requestId, span, waitMs });

/** A store that grants at once, remembering what it was asked. */
function open(options: InstanceOptions = {}): void {
  clock = new FakeClock();
  store = new ScriptedDriver();
  asked = [];
  store.onAcquire = (request) => (note(request), store.grant(request));
  driver = new HandoverDriver(store);
  klock = createKlock({ ttlMs: 900, ...options, driver, clock });
}

beforeEach(() => open());

/** `count` acquires of one key, each of which releases as soon as it holds. */
function eager(
  count: number,
  key: string | [string, string] = 'k',
  seen: LockHandle[] = [],
): Promise<LockHandle[]> {
  const one = async (): Promise<void> => {
    const lock = await klock.acquire(key);
    seen.push(lock);
    await lock.release();
  };
  return Promise.all(Array.from({ length: count }, one)).then(() => seen);
}

describe('hand-over (design D13)', () => {
  it('the release of one holder is told before the grant of the next', async () => {
    const told: string[] = [];
    klock.on('lock.granted', ({ fence }) => told.push(`granted ${fence}`));
    klock.on('lock.released', ({ fence }) => told.push(`released ${fence}`));
    await eager(3);
    expect(told).toEqual([1, 2, 3].flatMap((fence) => [`granted ${fence}`, `released ${fence}`]));
  });

  it('tells a waiter after the release that made room for it has returned, never inside it', async () => {
    const told: unknown[] = [];
    const request = (requestId: string): DriverAcquire => ({
      requestId,
      key: ['k'],
      ttlMs: 900,
      waitMs: 1_000,
      attemptMs: 1_000,
      renew: true,
      passable: true,
      settle: (reply) => told.push(reply.granted),
      fail: (error) => told.push(error),
    });
    store.onAcquire = (asked) => ({ ...store.grant(asked), span: 2 });
    const first = driver.acquire(request('first')) as DriverGrant;
    expect(driver.acquire(request('second'))).toBe(LATER);
    expect([driver.release(first), told]).toEqual(['released', []]);
    await settle();
    expect(told).toEqual([true]);
  });

  it('[D2] judges a grant that the store promised by the clocks of the turn in which it is read', async () => {
    let keep: (grant: DriverGrant) => void = () => undefined;
    let asked: DriverAcquire | undefined;
    store.onAcquire = (request) => ((asked = request), new Promise((resolve) => (keep = resolve)));
    const acquiring = klock.acquire('k');
    keep({ ...store.grant(asked as DriverAcquire), decidedAt: clock.now() });
    // The process stands still before the answer is read.
    clock.block(901);
    await expect(acquiring).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });

  it('goes on alike in front of a store that tells its answers later', async () => {
    const later: (() => void)[] = [];
    store.onAcquire = (request) => {
      note(request);
      later.push(() => request.settle?.(store.grant(request)));
      return LATER;
    };
    const holding = eager(4);
    while (later.length > 0) {
      later.shift()?.();
      await settle();
    }
    expect((await holding).map(({ fence }) => fence)).toEqual([1n, 2n, 3n, 4n]);
    expect(asked).toHaveLength(1);
    expect(driver.size).toBe(0);
  });

  it('a store that fails later fails one waiter; the next of this process asks', async () => {
    const requests: DriverAcquire[] = [];
    store.onAcquire = (request) => (requests.push(request), LATER);
    const [first, second] = [klock.acquire('k'), klock.acquire('k')];
    requests[0]?.fail?.(new Error('broken'));
    await expect(first).rejects.toThrow('broken');
    expect(requests).toHaveLength(2);
    requests[1]?.settle?.({ granted: false });
    await expect(second).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(driver.size).toBe(0);
  });

  it('passes a released grant to the next waiter of the same key without asking the store, with rising fences', async () => {
    const locks = await eager(5);
    expect(asked).toHaveLength(2);
    expect(asked.map(({ span }) => span)).toEqual([1, 4]);
    const fences = locks.map((lock) => lock.fence);
    expect(fences).toEqual([1n, 2n, 3n, 4n, 5n]);
    expect(store.released).toEqual(['token-1', 'token-2']);
    expect(driver.size).toBe(0);
  });

  it('one waiter in the store for each key, however many siblings wait', async () => {
    let grant: () => void = () => undefined;
    store.onAcquire = (request) => {
      note(request);
      return new Promise((resolve) => (grant = () => resolve(store.grant(request))));
    };
    const waiting = eager(50);
    await settle();
    expect(asked).toHaveLength(1);
    grant();
    await settle();
    expect(asked).toHaveLength(2);
    // The first was passed on to the 31 that asked in its turn, before its question left the process.
    expect(asked[1]?.span).toBe(18);
    for (let turn = 0; turn < 5; turn++) {
      grant();
      await settle();
    }
    await waiting;
    expect(asked.length).toBeLessThanOrEqual(4);
  });

  it('[I11] never further than its span, nor for longer than 20 ms after the store’s answer', async () => {
    const first = await klock.acquire('k');
    const second = klock.acquire('k');
    const third = klock.acquire('k');
    await first.release();
    const holder = await second;
    await clock.advance(21);
    await holder.release();
    await (await third).release();
    expect(asked.map(({ span }) => span)).toEqual([1, 2, 1]);
  });

  it('a grant whose token was read goes back to the store', async () => {
    const first = await klock.acquire('k');
    const rest = [klock.acquire('k'), klock.acquire('k')];
    await first.release();
    const second = (await rest[0]) as LockHandle;
    expect(second.token).toBe('token-2');
    await second.release();
    const third = (await rest[1]) as LockHandle;
    expect(third.token).not.toBe(second.token);
    expect(asked).toHaveLength(3);
  });

  it('a passed-on holder’s token is the grant’s own, and reading it pins it too', async () => {
    const first = await klock.acquire('k');
    const rest = [klock.acquire('k'), klock.acquire('k'), klock.acquire('k')];
    await first.release();
    await ((await rest[0]) as LockHandle).release();
    const third = (await rest[1]) as LockHandle;
    expect(third.token).toBe('token-2');
    await third.release();
    await rest[2];
    expect(asked).toHaveLength(3);
  });

  it.each([
    ['renew: false', { renew: false }],
    ['localTtlMs', { localTtlMs: 500 }],
    ['metadata', { metadata: { job: 'x' } }],
    ['another ttlMs', { ttlMs: 800 }],
  ])('not to a waiter with %s', async (_, options) => {
    const first = await klock.acquire('k');
    const plain = klock.acquire('k');
    const odd = klock.acquire('k', options);
    await first.release();
    await (await plain).release();
    await odd;
    expect(asked).toHaveLength(3);
  });

  it('not when less than half of the lease is left', async () => {
    store.sentAt = { monoMs: clock.monoMs() - 400, wallMs: clock.wallMs() - 400 };
    const first = await klock.acquire('k');
    const rest = [klock.acquire('k'), klock.acquire('k')];
    await first.release();
    await ((await rest[0]) as LockHandle).release();
    await rest[1];
    expect(asked).toHaveLength(3);
  });

  it('not while a renewal is unanswered', async () => {
    const first = await klock.acquire('k');
    const rest = [klock.acquire('k'), klock.acquire('k')];
    await clock.advance(290);
    await first.release();
    const second = (await rest[0]) as LockHandle;
    store.onRenew = () => new Promise(() => undefined);
    await clock.advance(15);
    await second.release();
    await rest[1];
    expect(asked).toHaveLength(3);
  });

  it('[K-006] an L1 waiter of this process stands between two L2 holders: nothing is passed over it', async () => {
    const order: string[] = [];
    const first = await klock.acquire(['t', 'a']);
    const whole = klock.acquire('t').then((lock) => (order.push('l1'), lock.release()));
    const next = klock.acquire(['t', 'a']).then((lock) => (order.push('l2'), lock.release()));
    await first.release();
    await Promise.all([whole, next]);
    expect(order).toEqual(['l1', 'l2']);
  });

  it('handover: false goes straight to the store', async () => {
    open({ handover: false });
    await eager(5);
    expect(asked).toHaveLength(5);
  });
});

describe('local waiting', () => {
  it('[K-150] a local wait ends at its own waitMs, and blocks nobody after it', async () => {
    const held = await klock.acquire('k');
    const late = klock.acquire('k', { waitMs: 100 }).catch((error: unknown) => error);
    const patient = klock.acquire('k');
    await clock.advance(100);
    expect(await late).toMatchObject({ code: 'LOCK_TIMEOUT' });
    await held.release();
    expect((await patient).held).toBe(true);
  });

  it('[B-025] an aborted local waiter leaves at once', async () => {
    const held = await klock.acquire('k');
    const controller = new AbortController();
    const gone = klock.acquire('k', { signal: controller.signal }).catch((error: unknown) => error);
    await settle();
    controller.abort(new Error('mine'));
    expect(await gone).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(driver.size).toBe(1);
    await held.release();
    expect(driver.size).toBe(0);
  });

  it('[L-02] tryAcquire behind a sibling is busy without asking the store', async () => {
    await klock.acquire('k');
    expect(await klock.tryAcquire('k')).toBeUndefined();
    expect(asked).toHaveLength(1);
  });

  it('a busy or failing answer lets the next sibling ask with what is left of its own wait', async () => {
    const answers: (() => DriverGrant | DriverBusy | Promise<never>)[] = [
      () => ({ granted: false }),
      () => Promise.reject(new Error('broke')),
    ];
    store.onAcquire = async (request) => {
      note(request);
      await new Promise((resolve) => clock.after(50, () => resolve(undefined)));
      return (answers.shift() ?? ((): DriverGrant => store.grant(request)))();
    };
    const outcomes = [
      klock.acquire('k', { waitMs: 1_000 }),
      klock.acquire('k', { waitMs: 1_000 }),
      klock.acquire('k', { waitMs: 1_000 }),
    ].map((wait) =>
      wait.then(
        () => 'granted',
        (error: Error) => error.message.slice(0, 5),
      ),
    );
    await clock.advance(200);
    expect(await Promise.all(outcomes)).toEqual(['"k" i', 'broke', 'granted']);
    expect(asked.map(({ waitMs }) => waitMs)).toEqual([1_000, 950, 900]);
  });

  it('when the lease is lost its holder is told and the siblings ask the store', async () => {
    const held = await klock.acquire('k');
    const next = klock.acquire('k');
    await settle();
    const order: string[] = [];
    klock.on('lock.lost', () => order.push(`lost, ${asked.length} asked`));
    store.host.endLease(store.lease as NonNullable<typeof store.lease>, 'session-gone', 'SESSION_GONE');
    expect(held.held).toBe(false);
    expect((await next).held).toBe(true);
    expect(order).toEqual(['lost, 1 asked']);
    expect(asked).toHaveLength(2);
  });

  it('a revoked grant is lost by whoever holds it now', async () => {
    let base: DriverGrant | undefined;
    store.onAcquire = (request) => (base = store.grant(request));
    const first = await klock.acquire('k');
    const rest = [klock.acquire('k'), klock.acquire('k'), klock.acquire('k')];
    await first.release();
    await ((await rest[0]) as LockHandle).release();
    const third = (await rest[1]) as LockHandle;
    store.host.endGrant(base as DriverGrant, 'revoked', 'REVOKED');
    expect(third.held).toBe(false);
    expect(((await rest[2]) as LockHandle).held).toBe(true);
  });

  it('[I12] a thousand keys leave nothing behind', async () => {
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => eager(2, `k${index}`)));
    expect(driver.size).toBe(0);
  });
});
