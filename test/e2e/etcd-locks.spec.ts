import { isLockError, type KlockInstance, type LockEvent } from 'klock/core';
import { EtcdRig, failure, pause, until } from '../support/etcd-rig.js';
import { scaleNote, scaled } from '../support/scale.js';

const rig = new EtcdRig();
beforeAll(() => rig.start(), 30_000);
afterAll(() => rig.stop());
afterEach(() => rig.closeAll());

const pair = (): [KlockInstance, KlockInstance] => [rig.client(), rig.client()];
const codeOf = async (promise: Promise<unknown>): Promise<string | undefined> => {
  const error = await failure(promise);
  if (error === undefined || isLockError(error)) return error?.code;
  throw error as Error;
};

describe('a lock on etcd', () => {
  it('[D-14] [D-13] [H-01] [H-02] [H-28] [D-53] grants a free key with a token and fence of its own, stands in etcd while held and is gone after', async () => {
    const klock = rig.client();
    const key = rig.key();
    const seen = [];
    for (let turn = 0; turn < 3; turn++) {
      const lock = await klock.acquire(key);
      seen.push({ token: lock.token, fence: lock.fence });
      expect(await rig.entries(key)).toHaveLength(1);
      expect(await lock.release()).toBe('released');
      expect(await rig.entries(key)).toEqual([]);
    }
    expect(new Set(seen.map(({ token }) => token)).size).toBe(3);
    expect(seen[0]!.fence < seen[1]!.fence && seen[1]!.fence < seen[2]!.fence).toBe(true);
  });

  it('[D-15] [D-16] [H-05] [H-17] tryAcquire asks once: undefined while another client holds, a lock once it has released', async () => {
    const [a, b] = pair();
    const key = rig.key();
    const lock = await a.tryAcquire(key);
    expect(await b.tryAcquire(key)).toBeUndefined();
    expect([await a.isLocked(key), await b.isLocked(key)]).toEqual([true, true]);
    expect(await rig.entries(key)).toHaveLength(1);
    await lock!.release();
    expect(await b.isLocked(key)).toBe(false);
    expect(await b.tryAcquire(key)).toBeDefined();
  });

  it('[D-46] [H-04] serves waiters of several clients in the order in which they came, each woken by the release before', async () => {
    const holder = rig.client();
    const key = rig.key();
    const lock = await holder.acquire(key);
    const order: number[] = [];
    const waits = [];
    for (let place = 0; place < 6; place++) {
      waits.push(rig.client().withLock(key, { waitMs: 20_000 }, () => void order.push(place)));
      await until(async () => (await rig.entries(key)).length === place + 2, 2_000, 'queued');
    }
    const startMs = performance.now();
    await lock.release();
    await Promise.all(waits);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });

  it('[D-21] [H-03] [H-06] a wait ends with LOCK_TIMEOUT, an aborted one with LOCK_ABORTED, and neither leaves an entry', async () => {
    const [a, b] = pair();
    const key = rig.key();
    await a.acquire(key);
    const gone = new AbortController();
    const waits = [
      codeOf(b.acquire(key, { waitMs: 150 })),
      codeOf(rig.client().acquire(key, { signal: gone.signal })),
    ];
    await until(async () => (await rig.entries(key)).length === 3, 2_000, 'both queued');
    gone.abort();
    expect(await Promise.all(waits)).toEqual(['LOCK_TIMEOUT', 'LOCK_ABORTED']);
    await until(async () => (await rig.entries(key)).length === 1, 1_000, 'taken back');
  });

  it('[D-10] [D-11] [D-12] [H-08] an empty key, and a ttl that is no whole number of seconds is refused, in options and per call, and writes nothing', async () => {
    for (const ttlMs of [999, 1_500, 1]) {
      expect(() => rig.client({ ttlMs })).toThrow(/ttlMs must be (a multiple of 1000 ms|above)/);
    }
    const klock = rig.client();
    const key = rig.key();
    for (const ttlMs of [999, 1_500, 0, -1_000]) {
      expect(await codeOf(klock.acquire(key, { ttlMs }))).toBe('INVALID_OPTION');
    }
    for (const call of [klock.acquire(''), klock.tryAcquire(''), klock.releaseToken('', 'lk_1')]) {
      expect(await codeOf(call)).toBe('INVALID_KEY');
    }
    expect(await rig.admin.keys('klock/')).toEqual([]);
  });

  it('[D-22] [D-43] locks of the default ttl share one lease; another ttl gets its own, which ends with the lock', async () => {
    const klock = rig.client();
    const before = (await rig.admin.leases()).length;
    const leases = async (): Promise<number> => (await rig.admin.leases()).length - before;
    const shared = await Promise.all([klock.acquire(rig.key()), klock.acquire(rig.key())]);
    expect(await leases()).toBe(1);
    const own = await klock.acquire(rig.key(), { ttlMs: 5_000 });
    expect(own.remainingMs).toBeGreaterThan(4_000);
    expect(await leases()).toBe(2);
    await own.release();
    await until(async () => (await leases()) === 1, 1_000, 'its lease revoked');
    expect(shared.every((lock) => lock.held)).toBe(true);
  });

  it('[D-23] [B-055] is renewed past its ttl, held and waited for; waiters that look for themselves meanwhile find it taken', async () => {
    const [a, b] = [rig.client({ ttlMs: 1_000 }), rig.client({ ttlMs: 1_000 })];
    const c = rig.client({ ttlMs: 1_000 });
    const l1 = rig.key();
    const lock = await a.acquire([l1, 'x']);
    const order: string[] = [];
    const same = b.withLock([l1, 'x'], { waitMs: 20_000 }, (mine) => {
      order.push('L2');
      expect(mine.remainingMs).toBeGreaterThan(450);
    });
    await until(async () => (await rig.entries(l1)).length === 2, 2_000, 'queued');
    const whole = c.withLock([l1], { waitMs: 20_000 }, () => void order.push('L1'));
    await pause(1_400);
    expect([order, lock.held]).toEqual([[], true]);
    await lock.release();
    await Promise.all([same, whole]);
    expect(order).toEqual(['L2', 'L1']);
  });

  it('[B-052] a release between the look that found the key taken and the begin of the watch is not missed', async () => {
    const { klock, net } = rig.faultyClient({ ttlMs: 20_000 });
    net.streamDelayMs = 300;
    const key = rig.key();
    const lock = await rig.client().acquire(key);
    const waiting = klock.acquire(key);
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    await lock.release();
    const startMs = performance.now();
    await waiting;
    // Its own look, without a watch, would come after 3.75 s at the earliest.
    expect(performance.now() - startMs).toBeLessThan(1_500);
  });

  it('[D-40] [D-41] [D-42] [D-52] of 64 attempts of one client at once one gets the key, the others take turns if they wait, a third party stays out', async () => {
    const [a, b] = pair();
    const [key, other] = [rig.key(), rig.key()];
    const tries = await Promise.all(Array.from({ length: 64 }, () => a.tryAcquire(key)));
    const got = tries.filter((lock) => lock !== undefined);
    expect(got).toHaveLength(1);
    expect(await a.tryAcquire(other)).toBeDefined();
    expect(await b.tryAcquire(key)).toBeUndefined();
    await got[0]!.release();
    let inside = 0;
    let most = 0;
    const turns = Array.from({ length: 64 }, () =>
      a.withLock(key, { waitMs: 20_000 }, async () => {
        most = Math.max(most, ++inside);
        await pause(0);
        inside--;
      }),
    );
    await Promise.all(turns);
    expect(most).toBe(1);
    expect(await b.tryAcquire(key)).toBeDefined();
  });

  it('[D-17] [D-18] inside its own section a key is refused at once, while another task of the same client waits for it', async () => {
    const klock = rig.client();
    const key = rig.key();
    let other: Promise<unknown> | undefined;
    let ask: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => (ask = resolve));
    void asked.then(() => (other = klock.withLock(key, { waitMs: 20_000 }, () => 'ran')));
    await klock.withLock(key, async () => {
      expect(await codeOf(klock.tryAcquire(key))).toBe('LOCK_REENTRY');
      expect(await codeOf(klock.acquire(key))).toBe('LOCK_REENTRY');
      ask();
      await pause(20);
    });
    expect(await other).toBe('ran');
  });

  it('[D-20] ten clients that lock one key in turn all succeed', async () => {
    const key = rig.key();
    const held = await Promise.all(
      Array.from({ length: 10 }, () => rig.client().withLock(key, { waitMs: 20_000 }, (lock) => lock.fence)),
    );
    expect(new Set(held).size).toBe(10);
  });

  it('[D-57] [D-58] tells of grant, release and loss by events with the key; without a listener nothing is told or printed', async () => {
    const klock = rig.client();
    const key = rig.key();
    const told: string[] = [];
    const quiet = await klock.acquire(key);
    await quiet.release();
    for (const type of ['lock.granted', 'lock.released', 'lock.lost'] as const) {
      klock.on(type, (event: LockEvent & { key: readonly string[] }) =>
        told.push(`${type} ${event.key.join('/')}`),
      );
    }
    await (await klock.acquire(key)).release();
    const lost = await klock.acquire(key);
    await rig.admin.revokeAll();
    await until(() => !lost.held, 3_000, 'lost');
    expect(told.map((each) => each.replace(key, 'k'))).toEqual([
      'lock.granted k',
      'lock.released k',
      'lock.granted k',
      'lock.lost k',
    ]);
  });

  it('[D-24] [D-25] [H-09] [H-10] [H-11] [H-12] [H-23] [H-27] a token frees its own grant from any client, and nothing else', async () => {
    const [a, b] = pair();
    const key = rig.key();
    const old = await a.acquire(key);
    await old.release();
    expect(await codeOf(b.releaseToken(key, old.token))).toBe('LOCK_NOT_HELD');
    const lock = await a.acquire(key);
    expect(await codeOf(b.releaseToken(key, old.token))).toBe('INVALID_TOKEN');
    expect([lock.held, await a.isLocked(key)]).toEqual([true, true]);
    await b.releaseToken(key, lock.token);
    expect(await a.isLocked(key)).toBe(false);
    expect(await lock.release()).toBe('lost');
  });

  it('[H-13] [H-14] a token renews its lease from any client, to its own length and not beyond, and not with a wrong one', async () => {
    const [a, b] = [rig.client({ ttlMs: 3_000, renewEveryMs: 2_500 }), rig.client()];
    const key = rig.key();
    const lock = await a.acquire(key);
    await pause(1_050);
    expect((await b.inspect(key)).holders[0]!.leaseLeftMs).toBeLessThan(2_000);
    await b.extendToken(key, lock.token, 3_000);
    expect((await b.inspect(key)).holders[0]!.leaseLeftMs).toBeGreaterThanOrEqual(2_000);
    expect(await codeOf(b.extendToken(key, lock.token, 60_000))).toBe('INVALID_OPTION');
    expect(await codeOf(b.extendToken(key, lock.token, 1_500))).toBe('INVALID_OPTION');
    expect(await codeOf(b.extendToken(key, 'lk_wrong', 2_000))).toBe('INVALID_TOKEN');
    await lock.release();
    expect(await codeOf(b.extendToken(key, lock.token, 2_000))).toBe('LOCK_NOT_HELD');
  });

  it('[D-34] [D-35] [D-37] close gives back locks of both kinds of lease at once, ends waits with CLOSED, and can be repeated', async () => {
    const [a, b] = pair();
    const [key, own, busy] = [rig.key(), rig.key(), rig.key()];
    const locks = [await a.acquire(key), await a.acquire(own, { ttlMs: 20_000 })];
    await b.acquire(busy);
    const waiting = codeOf(a.acquire(busy));
    await until(async () => (await rig.entries(busy)).length === 2, 2_000, 'queued');
    await Promise.all([a.close({ graceMs: 1 }), a.close({ graceMs: 1 })]);
    expect(await waiting).toBe('CLOSED');
    expect(await codeOf(a.acquire(key))).toBe('CLOSED');
    expect(await Promise.all(locks.map((lock) => lock.release()))).toEqual(['lost', 'lost']);
    expect(await b.tryAcquire(key)).toBeDefined();
    expect(await b.tryAcquire(own)).toBeDefined();
    expect(await rig.entries(busy)).toHaveLength(1);
  });

  it('[D-39] a lock granted while its instance closes is given back, and its caller told CLOSED', async () => {
    const { klock, net } = rig.faultyClient();
    await klock.acquire(rig.key());
    const key = rig.key();
    let closing: Promise<void> | undefined;
    net.fate = ({ path }) => {
      if (path.endsWith('Txn')) closing ??= klock.close({ graceMs: 1 });
      return 'pass';
    };
    expect(await codeOf(klock.acquire(key))).toBe('CLOSED');
    await closing;
    expect(await rig.entries(key)).toEqual([]);
  });

  it('[D-28] [D-30] a release is no loss: done says released, the signal stays quiet; whoever asks later hears that it is not held', async () => {
    const lock = await rig.client().acquire(rig.key());
    await lock.release();
    expect([(await lock.done).end, lock.signal.aborted]).toEqual(['released', false]);
    expect(() => lock.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_NOT_HELD' }) as Error);
  });

  it('[H-18] [H-19] [H-20] [H-22] withLock runs only with the lock, releases after result, error and abort, and does not run when busy', async () => {
    const [a, b] = pair();
    const key = rig.key();
    const gone = new AbortController();
    const mine = new Error('mine');
    await expect(
      a.withLock(key, { signal: gone.signal }, (lock) => {
        expect(lock.held).toBe(true);
        gone.abort();
        throw mine;
      }),
    ).rejects.toBe(mine);
    expect(await a.withLock(key, () => 7)).toBe(7);
    await b.acquire(key);
    let ran = false;
    expect(await codeOf(a.withLock(key, { waitMs: 50 }, () => (ran = true)))).toBe('LOCK_TIMEOUT');
    expect(ran).toBe(false);
  });

  it('[D-65] a cache rebuilt under a lock is read from its source once for many misses', async () => {
    const clients = [rig.client(), rig.client(), rig.client()];
    const key = rig.key();
    let cached: string | undefined;
    let reads = 0;
    const read = async (klock: KlockInstance): Promise<string> =>
      cached ??
      (await klock.withLock(key, { waitMs: 20_000 }, async () => {
        if (cached !== undefined) return cached;
        reads++;
        await pause(10);
        return (cached = 'value');
      }));
    await Promise.all(Array.from({ length: 30 }, (_, index) => read(clients[index % 3]!)));
    expect(reads).toBe(1);
  });

  it('inspect names holders and waiters of an L1 and what is below it, with ages, labels and what is left of the lease', async () => {
    const a = rig.client({ clientName: 'orders' });
    const b = rig.client({ clientName: 'billing' });
    const l1 = rig.key();
    const x = await a.acquire([l1, 'x'], { metadata: { job: '7' } });
    await a.acquire([l1, 'y']);
    const waiting = b.acquire([l1], { waitMs: 20_000 });
    await until(async () => (await a.inspect([l1])).waiterCount === 1, 2_000, 'queued');
    await pause(60);
    const report = await b.inspect([l1]);
    expect(report.holders.map(({ key }) => key)).toEqual([
      [l1, 'x'],
      [l1, 'y'],
    ]);
    const [first] = report.holders;
    expect(first).toMatchObject({ fence: x.fence, client: 'orders', metadata: { job: '7' } });
    expect(first!.heldMs).toBeGreaterThanOrEqual(50);
    expect(first!.leaseLeftMs).toBeGreaterThan(0);
    expect(report.waiters).toMatchObject([{ key: [l1], client: 'billing' }]);
    expect((await a.inspect([l1, 'z'])).locked).toBe(false);
    await a.close({ graceMs: 1 });
    expect((await waiting).held).toBe(true);
  });

  it('[K-150] says who holds when a wait is over', async () => {
    const a = rig.client({ clientName: 'orders' });
    const key = rig.key();
    await a.acquire(key);
    const error = await failure(rig.client().acquire(key, { waitMs: 80 }));
    expect(isLockError(error, 'LOCK_TIMEOUT') && (error as { holder?: string }).holder).toBe('orders');
  });

  it('[B-003] a second process of the same name gets nothing of the first, and the lock once its lease has ended', async () => {
    const { klock: dying, net } = rig.faultyClient({ clientName: 'worker-1', ttlMs: 1_000 });
    const key = rig.key();
    const first = await dying.acquire(key);
    // From now on it is a process that is gone: nothing leaves it any more.
    net.fate = () => 'lose-request';
    net.open = () => ({ send: () => undefined, close: () => undefined });
    const second = rig.client({ clientName: 'worker-1' });
    expect(await second.tryAcquire(key)).toBeUndefined();
    const next = await second.acquire(key, { waitMs: 6_000 });
    expect(first.held).toBe(false);
    expect(next.fence).toBeGreaterThan(first.fence);
  });
});

describe('names on etcd', () => {
  const names = [
    'a',
    'a/b',
    'a/b/c',
    'ab',
    'a/',
    '/a',
    'a\u0000',
    'a\u00ff',
    'a%2Fb',
    '1',
    '2',
    'a/1',
    'a/1/b',
  ];

  it('[B-053] [D-47] each is a lock of its own: while one is held all others can be had, whichever it is', async () => {
    const [a, b] = pair();
    for (const held of names) {
      const lock = await a.acquire(held);
      const others = names.filter((name) => name !== held);
      const got = await Promise.all(others.map((name) => b.tryAcquire(name)));
      expect(others.filter((_, index) => got[index] === undefined)).toEqual([]);
      for (const each of [lock, ...got]) await each?.release();
    }
  });

  it('[B-053] [D-56] prefixes and namespaces that begin alike share nothing', async () => {
    const clients = [
      rig.client({ namespace: 'app' }),
      rig.client({ namespace: 'app2' }),
      rig.client(),
      rig.client({}, { prefix: 'app' }),
      rig.client({}, { prefix: 'app2' }),
      rig.client({}, { prefix: 'klock/q' }),
    ];
    for (const klock of clients) {
      for (const name of names) expect(await klock.tryAcquire(name)).toBeDefined();
    }
  });

  it("[B-053] foreign keys between klock's own neither block nor wake anybody, and stay", async () => {
    const [a, b] = pair();
    const key = rig.key();
    const foreign = [
      `klock/q/${key}/zzz`,
      `klock/q/${key}/1/`,
      `klock/q/${key}`,
      `klock/q/${key}/2/x`,
      `klock/q/${key}/1/x/y`,
    ];
    for (let each = 0; each < 300; each++) foreign.push(`klock/q/${key}/1/x/${each}`);
    for (const name of foreign) await rig.admin.put(name);
    const lock = await a.acquire(key, { waitMs: 3_000 });
    expect(await b.tryAcquire(key)).toBeUndefined();
    const waiting = b.acquire(key, { waitMs: 5_000 });
    await pause(50);
    await rig.admin.put(`klock/q/${key}/1/x/late`);
    await lock.release();
    const next = await waiting;
    await next.release();
    const part = await a.acquire([key, 'l2'], { waitMs: 3_000 });
    await part.release();
    // One of them does not stand below the key, and one came late.
    expect(await rig.entries(key)).toHaveLength(foreign.length);
  });
});

describe('losing a lock on etcd', () => {
  it('[B-054] [D-26] [D-27] [D-44] [D-45] [D-51] a lease revoked behind our back is loss of all its locks within a second, told once, and the next lock has a new one', async () => {
    const [a, b] = pair();
    const keys = [rig.key(), rig.key()];
    const events: string[] = [];
    const states: boolean[] = [];
    const locks = await Promise.all(keys.map((key) => a.acquire(key)));
    a.on('lock.lost', (event: Extract<LockEvent, { type: 'lock.lost' }>) => {
      events.push(event.reason);
      states.push(...locks.filter((lock) => lock.fence === event.fence).map((lock) => lock.held));
    });
    // Old enough to be watched.
    await pause(700);
    await rig.admin.revokeAll();
    await until(() => events.length === 2, 1_000, 'lost');
    expect(events).toEqual(['session-gone', 'session-gone']);
    expect(states).toEqual([false, false]);
    expect(await Promise.all(locks.map((lock) => lock.release()))).toEqual(['lost', 'lost']);
    expect(await b.tryAcquire(keys[0]!)).toBeDefined();
    expect((await a.acquire(keys[1]!)).held).toBe(true);
    expect(events).toHaveLength(2);
  });

  it('[D-45] [WD-04] a lease revoked while nothing was watched costs the next lock nothing: it gets another, and what rested on the old one is lost', async () => {
    const klock = rig.client({ ttlMs: 60_000 });
    const kept = await klock.acquire(rig.key());
    await rig.admin.revokeAll();
    const lock = await klock.acquire(rig.key());
    expect([lock.held, kept.held]).toEqual([true, false]);
    expect(await lock.release()).toBe('released');
  });

  it(`[D-31] [D-32] [D-33] 1,152 locks lost together are each told their loss once, by handle, and every key can be had again${scaleNote(8)}`, async () => {
    const klock = rig.client({ ttlMs: 20_000 });
    const base = rig.key();
    const keys = Array.from({ length: scaled(1_152, 8) }, (_, index) => [base, String(index)] as const);
    const locks = await Promise.all(keys.map((key) => klock.acquire(key, { waitMs: 20_000 })));
    let events = 0;
    let aborts = 0;
    klock.on('lock.lost', () => events++);
    for (const lock of locks) lock.signal.addEventListener('abort', () => aborts++);
    await rig.admin.revokeAll();
    const ends = await Promise.all(locks.map((lock) => lock.done));
    expect(ends.every(({ end }) => end === 'lost')).toBe(true);
    expect([events, aborts]).toEqual([locks.length, locks.length]);
    expect(await Promise.all(locks.map((lock) => lock.release()))).toEqual(locks.map(() => 'lost'));
    const again = await klock.acquire(keys[7]!);
    expect([again.held, locks[7]!.held, (await locks[7]!.done).end]).toEqual([true, false, 'lost']);
  }, 30_000);

  it('[H-21] aborts the signal of a running section, which then rejects with LOCK_LOST and its result', async () => {
    const klock = rig.client({ ttlMs: 1_000 });
    const key = rig.key();
    const error = await failure(
      klock.withLock(key, async (lock) => {
        // Renewed past its ttl while the section runs.
        await pause(1_200);
        expect(lock.held).toBe(true);
        await rig.admin.revokeAll();
        await until(() => lock.signal.aborted, 2_000, 'told');
        return 7;
      }),
    );
    expect(isLockError(error, 'LOCK_LOST') && (error as { result?: unknown }).result).toBe(7);
  });

  it('[B-054] one entry deleted by hand is loss of that lock alone, confirmed by a read', async () => {
    const klock = rig.client();
    const [key, other] = [rig.key(), rig.key()];
    const [lock, kept] = [await klock.acquire(key), await klock.acquire(other)];
    await pause(700);
    const [name] = await rig.entries(key);
    await rig.admin.remove(name!);
    await until(() => !lock.held, 1_000, 'lost');
    const end = await lock.done;
    expect(end.end === 'lost' && end.reason).toBe('revoked');
    expect(kept.held).toBe(true);
    await pause(100);
    expect(await kept.release()).toBe('released');
  });

  it('[B-050] a waiter whose entry is deleted by hand loses its place and not its wait', async () => {
    const [a, b] = pair();
    const key = rig.key();
    const lock = await a.acquire(key);
    const before = new Set(await rig.entries(key));
    const waiting = b.acquire(key, { waitMs: 20_000, ttlMs: 4_000 });
    const added = async (): Promise<string[]> => (await rig.entries(key)).filter((name) => !before.has(name));
    await until(async () => (await added()).length === 1, 2_000, 'queued');
    const [place] = await added();
    await rig.admin.remove(place!);
    // Noticed at the slow look, half a lease later at most.
    await until(async () => (await added()).some((name) => name !== place), 4_000, 'queued again');
    await lock.release();
    expect((await waiting).held).toBe(true);
  });

  it('[D-51] [WD-10] the release of a lock whose entry is gone says lost, even before the loss was noticed', async () => {
    const klock = rig.client();
    const key = rig.key();
    const lock = await klock.acquire(key);
    await rig.admin.revokeAll();
    expect(await lock.release()).toBe('lost');
  });

  it('[B-050] [D-44] a waiter whose lease is revoked is refused within its renewal interval, leaves no entry and is never granted', async () => {
    const [a, b] = pair();
    const key = rig.key();
    const held = await a.acquire(key, { ttlMs: 60_000 });
    const mine = new Set(await rig.admin.leases());
    const waiting = failure(b.acquire(key, { waitMs: 20_000 }));
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    const [theirs] = (await rig.admin.leases()).filter((lease) => !mine.has(lease));
    await rig.admin.revoke(theirs!);
    const startMs = performance.now();
    const error = await waiting;
    expect(performance.now() - startMs).toBeLessThan(2_000);
    expect(isLockError(error, 'LOCK_UNAVAILABLE') && (error as { storeCode?: string }).storeCode).toBe(
      'SESSION_GONE',
    );
    expect([held.held, (await rig.entries(key)).length]).toEqual([true, 1]);
    await held.release();
    expect(await rig.client().tryAcquire(key)).toBeDefined();
  });
});

describe('an etcd that is restarted', () => {
  it('[B-004] [I3] keeps locks, and its fences go on rising', async () => {
    const klock = rig.client({ ttlMs: 20_000 });
    const key = rig.key();
    const kept = await klock.acquire(rig.key());
    const first = await klock.acquire(key);
    await first.release();
    await rig.etcd.members[0]!.restart();
    const second = await klock.acquire(key, { waitMs: 5_000 });
    expect(second.fence).toBeGreaterThan(first.fence);
    expect([kept.held, await kept.release()]).toEqual([true, 'released']);
  }, 20_000);
});

describe('a store that is not there', () => {
  it('[D-05] [D-59] [D-61] [D-63] [H-15] [H-16] ready and health say so with the cause, and acquire throws LOCK_UNAVAILABLE in time', async () => {
    const klock = rig.client({}, { hosts: '127.0.0.1:1', callTimeoutMs: 100 });
    const error = await failure(klock.driver.ready(150));
    expect(isLockError(error, 'LOCK_UNAVAILABLE') && error.cause !== undefined).toBe(true);
    expect((await klock.driver.health()).state).toBe('unreachable');
    const startMs = performance.now();
    expect(await codeOf(klock.acquire(rig.key(), { waitMs: 200 }))).toBe('LOCK_UNAVAILABLE');
    expect(performance.now() - startMs).toBeLessThan(2_500);
  });

  it('[D-61] [D-62] [D-63] ready and health say ok for one that is, and warn about a version that may revoke renewed leases', async () => {
    const klock = rig.client();
    const warnings: string[] = [];
    klock.on('warning', (event) => warnings.push(event.code));
    await klock.driver.ready(2_000);
    await klock.driver.ready(2_000);
    expect((await klock.driver.health()).state).toBe('ok');
    const { etcdserver } = (await (await fetch(`http://${rig.etcd.endpoints[0]}/version`)).json()) as {
      etcdserver: string;
    };
    const old = /^3\.4\.([12]?\d|30)$|^3\.5\.(\d|1[0-2])$/.test(etcdserver);
    expect(warnings).toEqual(old ? ['ETCD_VERSION'] : []);
  });
});
