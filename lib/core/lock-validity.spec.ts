import { createKlock, type KlockInstance } from './front-end.js';
import { isLockError } from './errors.js';
import { FakeClock, settle } from './fake-clock.js';
import type { LockEvent } from './lock-events.js';
import type { LockHandle } from './lock-handle.js';
import type { InstanceOptions } from './options.js';
import { ScriptedDriver } from './scripted-driver.js';

let clock: FakeClock;
let driver: ScriptedDriver;
let klock: KlockInstance;
let losses: Extract<LockEvent, { type: 'lock.lost' }>[];

function open(options: InstanceOptions = {}, own = new ScriptedDriver()): void {
  clock = new FakeClock();
  driver = own;
  klock = createKlock({ ttlMs: 900, ...options, driver, clock });
  losses = [];
  klock.on('lock.lost', (event) => losses.push(event));
}

const failed = (): { outcome: 'failed'; cause: unknown } => ({
  outcome: 'failed',
  cause: new Error('UNAVAILABLE'),
});

beforeEach(() => open());

describe('the deadline', () => {
  it('[K-188] [B-017] counts from the send time of the request that opened the lease, less the margin, whatever the reply took', async () => {
    driver.sentAt = clock.now();
    driver.onAcquire = async (request) => {
      await clock.advance(300);
      return driver.grant(request);
    };
    const lock = await klock.acquire('k');
    expect(lock.remainingMs).toBe(900 - 90 - 300);
  });

  it('[B-017] a grant that arrives past its deadline is given back and never returned', async () => {
    driver.sentAt = clock.now();
    driver.onAcquire = (request) => {
      clock.block(850);
      return driver.grant(request);
    };
    const error = await klock.acquire('k').catch((caught: unknown) => caught);
    expect(isLockError(error, 'LOCK_LOST')).toBe(true);
    expect([driver.released.length, driver.abandoned.length].some((count) => count > 0)).toBe(true);
  });

  it.each(['goes back at once', 'is held until more work has settled'])(
    '[D2] a section whose lock ran out while its work stood still tells that, and the result: the lock %s',
    async (how) => {
      const section = klock.withLock('k', (lock) => {
        if (how !== 'goes back at once') lock.holdUntil(new Promise(() => undefined));
        clock.block(901);
        return 'done';
      });
      await expect(section).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired', result: 'done' });
    },
  );

  it('what only its own release brings to light is not taken for a loss during the section', async () => {
    driver.onRelease = () => 'lost';
    expect(await klock.withLock('k', () => 'done')).toBe('done');
  });

  it('[K-148] uses the granted lease where it is shorter than asked', async () => {
    driver.grantedMs = 500;
    const lock = await klock.acquire('k');
    expect(lock.remainingMs).toBe(450);
  });

  it('[K-186] [K-174] moves with every successful renewal, counted from its send time', async () => {
    const lock = await klock.acquire('k');
    await clock.advance(300);
    expect(driver.renewals).toBe(1);
    expect(lock.remainingMs).toBe(810);
    await clock.advance(3_000);
    expect(lock.held).toBe(true);
    expect(losses).toEqual([]);
  });

  it('[B-013] [K-189] a stop of the process is seen on the first read after it, before any timer', async () => {
    const lock = await klock.acquire('k');
    clock.block(5_000);
    expect(lock.held).toBe(false);
    expect(lock.remainingMs).toBe(0);
    expect(lock.signal.aborted).toBe(true);
    expect(losses).toHaveLength(1);
  });

  it('[B-013] a sleep that the monotonic clock does not see ends the lock all the same', async () => {
    const lock = await klock.acquire('k');
    clock.suspend(5_000);
    expect(lock.held).toBe(false);
  });

  it('a backward step of the wall clock never lengthens a lock; a forward step may end it early', async () => {
    driver.onRenew = failed;
    const lock = await klock.acquire('k');
    clock.stepWall(-3_600_000);
    await clock.advance(809);
    expect(lock.held).toBe(true);
    await clock.advance(1);
    expect(lock.held).toBe(false);
    open();
    const other = await klock.acquire('k');
    clock.stepWall(900);
    expect(other.held).toBe(false);
  });

  it('[B-014] after a blocked event loop assertHeld throws expired in the same tick and at most one renewal is sent', async () => {
    const lock = await klock.acquire('k');
    clock.block(3_000);
    const thrown = (): unknown => {
      try {
        return lock.assertHeld();
      } catch (error) {
        return error;
      }
    };
    expect(thrown()).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    await clock.advance(1_000);
    expect(driver.renewals).toBeLessThanOrEqual(1);
    expect(losses).toHaveLength(1);
  });
});

describe('loss', () => {
  it('[B-022] [B-015] renewals that fail are repeated until the deadline, then lost once as unreachable', async () => {
    driver.onRenew = failed;
    const jeopardy: unknown[] = [];
    klock.on('lease.jeopardy', (event) => jeopardy.push(event));
    const lock = await klock.acquire('k');
    const { signal } = lock;
    await clock.advance(809);
    expect([lock.held, signal.aborted, jeopardy.length]).toEqual([true, false, 1]);
    expect(driver.renewals).toBeGreaterThan(2);
    await clock.advance(1);
    expect([lock.held, signal.aborted]).toEqual([false, true]);
    expect(losses).toMatchObject([{ reason: 'unreachable', code: 'HEARTBEAT_CONSECUTIVE_FAILURE' }]);
    expect(driver.abandoned).toHaveLength(1);
    const before = driver.renewals;
    await clock.advance(5_000);
    expect(driver.renewals).toBe(before);
  });

  it('[K-172] one failed renewal changes nothing', async () => {
    let first = true;
    driver.onRenew = (lease) => {
      if (!first) return { outcome: 'renewed', grantedMs: lease.ms };
      first = false;
      return failed();
    };
    const lock = await klock.acquire('k');
    await clock.advance(5_000);
    expect(lock.held).toBe(true);
    expect(losses).toEqual([]);
  });

  it('[B-015] a driver that throws from renew, and a listener that throws, end no process and no other lock', async () => {
    driver.onRenew = () => {
      throw new Error('transport broke');
    };
    const warnings: string[] = [];
    klock.on('warning', ({ code }) => warnings.push(code));
    klock.on('lock.lost', () => {
      throw new Error('listener broke');
    });
    const locks = [await klock.acquire('a'), await klock.acquire('b')];
    await clock.advance(810);
    expect(locks.map((lock) => lock.held)).toEqual([false, false]);
    expect(losses).toHaveLength(2);
    expect(warnings).toEqual(['LISTENER_FAILED', 'LISTENER_FAILED']);
    expect(await locks[0]?.release()).toBe('lost');
  });

  it('[K-175] [B-001] an answer that the lease is gone loses it at once, with the store’s own code', async () => {
    driver.onRenew = () => ({ outcome: 'gone', reason: 'session-gone', code: 'SESSION_NOT_FOUND' });
    const lock = await klock.acquire('k');
    await clock.advance(300);
    expect(lock.held).toBe(false);
    expect(losses).toMatchObject([{ reason: 'session-gone', code: 'SESSION_NOT_FOUND' }]);
  });

  it('[B-001] [I1] a renewal answered after the deadline revives nothing', async () => {
    let answer: () => void = () => undefined;
    driver.onRenew = (lease) =>
      new Promise((resolve) => (answer = () => resolve({ outcome: 'renewed', grantedMs: lease.ms })));
    const lock = await klock.acquire('k');
    await clock.advance(810);
    expect(lock.held).toBe(false);
    answer();
    await settle();
    expect(lock.held).toBe(false);
    expect(losses).toHaveLength(1);
  });

  it('[K-183] [WK-26] done, signal and event all tell the first end, to any number of readers, before and after', async () => {
    const lock = await klock.acquire('k');
    const early = lock.done;
    driver.host.endLease(
      driver.lease as NonNullable<typeof driver.lease>,
      'server-changed',
      'SERVER_INSTANCE_MISMATCH',
      {
        oldServer: 'srv_1',
        newServer: 'srv_2',
      },
    );
    driver.host.endLease(driver.lease as NonNullable<typeof driver.lease>, 'session-gone', 'SESSION_GONE');
    const end = await early;
    expect(end).toMatchObject({ end: 'lost', reason: 'server-changed', code: 'SERVER_INSTANCE_MISMATCH' });
    expect(await lock.done).toEqual(end);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'server-changed' });
    expect(losses).toMatchObject([{ oldServer: 'srv_1', newServer: 'srv_2', token: 'token-1' }]);
  });

  it('[B-054] inside the loss listener the handle already says lost', async () => {
    const lock = await klock.acquire('k');
    const seen: boolean[] = [];
    klock.on('lock.lost', () => seen.push(lock.held));
    clock.block(900);
    await clock.advance(0);
    expect(seen).toEqual([false]);
  });

  it('[B-054] inside the loss listener of one lock its siblings on the lease say lost too, each told once', async () => {
    const locks = [await klock.acquire('a'), await klock.acquire('b'), await klock.acquire('c')];
    const seen: boolean[][] = [];
    klock.on('lock.lost', () => seen.push(locks.map((lock) => lock.held || !lock.signal.aborted)));
    driver.host.endLease(driver.lease as NonNullable<typeof driver.lease>, 'session-gone', 'SESSION_GONE');
    expect(seen).toHaveLength(3);
    expect(seen.flat()).not.toContain(true);
    expect(losses).toHaveLength(3);
  });

  it('[K-185] [K-187] a fixed local ttl ends the handle as expired, is not renewed, and gives the lock back', async () => {
    const lock = await klock.acquire('k', { localTtlMs: 400 });
    const other = await klock.acquire('other');
    await clock.advance(400);
    expect([lock.held, other.held]).toEqual([false, true]);
    expect(losses).toMatchObject([{ reason: 'expired', code: 'LOCAL_TTL_EXPIRED' }]);
    expect(driver.released).toEqual(['token-1']);
  });

  it('a handle with a shorter ttl than its session is lost at its own deadline if renewals stop, and outlives it if they go on', async () => {
    const session = driver;
    session.grant = (request) => {
      session.lease ??= session.openLease(900);
      return ScriptedDriver.prototype.grant.call(session, request);
    };
    const short = await klock.acquire('k', { ttlMs: 400 });
    await clock.advance(2_000);
    expect(short.held).toBe(true);
    session.onRenew = failed;
    await clock.advance(400);
    expect(short.held).toBe(false);
    expect(session.released).toHaveLength(1);
  });

  it.each([
    ['max-hold', { maxHoldMs: 500 }],
    ['expired', { localTtlMs: 500 }],
    ['expired', { ttlMs: 500, renew: false }],
  ] as const)(
    '[I10] a lock that ends before its lease (%s, %j) is given back once its holder was told, not before',
    async (reason, options) => {
      const order: string[] = [];
      driver.onRelease = () => (order.push('given back'), 'released');
      klock.on('lock.lost', () => order.push('event'));
      const lock = await klock.acquire('k', options);
      lock.signal.addEventListener('abort', () => order.push('signal'));
      await clock.advance(500);
      expect(order).toEqual(['signal', 'event', 'given back']);
      expect(losses).toMatchObject([{ reason }]);
    },
  );

  it('[B-079] maxHoldMs loses the lock as max-hold although renewals succeed', async () => {
    const lock = await klock.acquire('k', { maxHoldMs: 2_000 });
    await clock.advance(1_999);
    expect(lock.held).toBe(true);
    await clock.advance(1);
    expect(losses).toMatchObject([{ reason: 'max-hold', code: 'MAX_HOLD' }]);
  });

  it('[B-079] a lock held for more than ten ttl is told once', async () => {
    const told: unknown[] = [];
    klock.on('lock.long-held', (event) => told.push(event));
    await klock.acquire('k');
    await clock.advance(8_900);
    expect(told).toEqual([]);
    await clock.advance(3_000);
    expect(told).toHaveLength(1);
  });
});

describe('release', () => {
  it('[B-019] no renewal is sent for a lease whose only lock was released and closed', async () => {
    const lock = await klock.acquire('k');
    await lock.release();
    driver.lease?.close();
    await clock.advance(5_000);
    expect(driver.renewals).toBe(0);
    expect(losses).toEqual([]);
  });

  it('[B-019] a renewal under way does not disturb a release, nor the other way round', async () => {
    let answer: () => void = () => undefined;
    driver.onRenew = () =>
      new Promise(
        (resolve) =>
          (answer = () => resolve({ outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' })),
      );
    const lock = await klock.acquire('k');
    await clock.advance(300);
    expect(await lock.release()).toBe('released');
    answer();
    await settle();
    expect(losses).toEqual([]);
    expect(await lock.done).toMatchObject({ end: 'released' });
  });

  it('[B-018] [WK-12] a release not answered in time is unknown for its caller, held is false from the first call, and the outcome stays so', async () => {
    let answer: (outcome: 'released') => void = () => undefined;
    driver.onRelease = () => new Promise((resolve) => (answer = resolve));
    const problems: unknown[] = [];
    klock.on('release.failed', (event) => problems.push(event));
    const lock = await klock.acquire('k');
    const outcome = lock.release();
    expect(lock.held).toBe(false);
    await clock.advance(1_000);
    expect(await outcome).toBe('unknown');
    expect(problems).toHaveLength(1);
    answer('released');
    await settle();
    expect(await lock.release()).toBe('unknown');
    expect(driver.released).toEqual(['token-1']);
  });

  it('a section whose release is answered too late has ended once: closing still waits for another that runs', async () => {
    let answer: (outcome: 'released') => void = () => undefined;
    driver.onRelease = () => new Promise((resolve) => (answer = resolve));
    const late = klock.withLock('k', () => 'done');
    await settle();
    await clock.advance(1_000);
    expect(await late).toBe('done');
    answer('released');
    await settle();
    driver.onRelease = () => 'released';
    let end: () => void = () => undefined;
    const running = klock.withLock('other', () => new Promise<void>((resolve) => (end = resolve)));
    await settle();
    let closed = false;
    const closing = klock.close({ graceMs: 5_000 }).then(() => (closed = true));
    await settle();
    expect(closed).toBe(false);
    end();
    await Promise.all([running, closing]);
  });

  it('[K-194] [WK-44] releasing a lost handle asks nobody and says lost', async () => {
    const lock = await klock.acquire('k');
    driver.host.endLease(driver.lease as NonNullable<typeof driver.lease>, 'session-gone', 'SESSION_GONE');
    expect(await lock.release()).toBe('lost');
    expect(driver.released).toEqual([]);
  });

  it('[B-025] await using releases, also when the block throws', async () => {
    const block = async (): Promise<never> => {
      await using lock: LockHandle = await klock.acquire('k');
      throw new Error(`left with ${lock.held}`);
    };
    await expect(block()).rejects.toThrow('left with true');
    expect(driver.released).toEqual(['token-1']);
  });

  it('a driver that throws from release is reported, not thrown', async () => {
    driver.onRelease = () => {
      throw new Error('broken driver');
    };
    const warnings: string[] = [];
    klock.on('warning', ({ code }) => warnings.push(code));
    const lock = await klock.acquire('k');
    await expect(lock.release()).resolves.toBe('lost');
    expect(warnings).toEqual(['RELEASE_BROKEN']);
  });
});

describe('close', () => {
  it('[B-066] waits for running sections with their locks renewed, then ends the rest and the driver', async () => {
    let finish: () => void = () => undefined;
    const section = klock.withLock('k', () => new Promise<void>((resolve) => (finish = resolve)));
    await settle();
    const bare = await klock.acquire('other');
    const closed = klock.close({ graceMs: 60_000 });
    await clock.advance(5_000);
    expect([bare.held, driver.closes]).toEqual([true, 0]);
    finish();
    await section;
    await clock.advance(10);
    await closed;
    expect([bare.held, driver.closes]).toEqual([false, 1]);
    expect(losses).toMatchObject([{ reason: 'closed', code: 'CLIENT_CLOSE' }]);
  });

  it('[B-066] gives up on sections after graceMs, says how many, and aborts them', async () => {
    const warnings: string[] = [];
    klock.on('warning', ({ message }) => warnings.push(message));
    let signal: AbortSignal | undefined;
    void klock.withLock('k', (lock) => {
      signal = lock.signal;
      return new Promise(() => undefined);
    });
    await settle();
    const closed = klock.close({ graceMs: 500 });
    await clock.advance(500);
    await clock.advance(1_000);
    await closed;
    expect(signal?.aborted).toBe(true);
    expect(warnings[0]).toContain('1 running section(s) 500 ms');
  });

  it('[K-203] [WK-28] a close whose farewell failed tries it again when repeated', async () => {
    driver.onClose = () => driver.closes > 1;
    await klock.close();
    await klock.close();
    await klock.close();
    expect(driver.closes).toBe(2);
  });

  it('[K-200] [B-020] a grant that arrives after close or abort is given back, and the call fails', async () => {
    let grant: () => void = () => undefined;
    driver.onAcquire = (request) => new Promise((resolve) => (grant = () => resolve(driver.grant(request))));
    const controller = new AbortController();
    const aborted = klock.acquire('a', { signal: controller.signal }).catch((error: unknown) => error);
    await settle();
    controller.abort(new Error('mine'));
    grant();
    expect(isLockError(await aborted, 'LOCK_ABORTED')).toBe(true);
    const late = klock.acquire('b').catch((error: unknown) => error);
    await settle();
    void klock.close();
    grant();
    expect(isLockError(await late, 'CLOSED')).toBe(true);
    expect(driver.released).toEqual(['token-1', 'token-2']);
  });

  it('a grace that is no duration is refused by name, and nothing is closed', async () => {
    for (const graceMs of [0, -1, NaN, 1.5]) {
      await expect(klock.close({ graceMs })).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        option: 'graceMs',
      });
    }
    expect((await klock.acquire('k')).held).toBe(true);
  });

  it('leaves no timer behind', async () => {
    await klock.acquire('k', { maxHoldMs: 60_000 });
    await klock.close();
    expect(clock.timers).toBe(0);
  });
});

it('[B-025] ten thousand acquires with one signal leave no listener on it', async () => {
  const controller = new AbortController();
  let listeners = 0;
  const { signal } = controller;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...args: Parameters<typeof add>) => (listeners++, add(...args));
  signal.removeEventListener = (...args: Parameters<typeof remove>) => (listeners--, remove(...args));
  for (let turn = 0; turn < 10_000; turn++) await (await klock.acquire('k', { signal })).release();
  expect(listeners).toBe(0);
});
