import { ENTER_SECTION, isLockError } from 'klock/core';
import type { CallOnItsWay, Fate } from '../support/etcd-transport.js';
import { EtcdRig, failure, pause, until } from '../support/etcd-rig.js';
import { scaleNote, scaled } from '../support/scale.js';
import { chosenSeed } from '../support/seed.js';

const rig = new EtcdRig();
beforeAll(() => rig.start(), 30_000);
afterAll(() => rig.stop());
afterEach(() => rig.closeAll());

const isTxn = ({ path }: CallOnItsWay): boolean => path.endsWith('/Txn');
/** The fates of the next transactions, one after another; the rest pass. */
const fates = (...each: Fate[]): ((call: CallOnItsWay) => Fate) => {
  const left = [...each];
  return (call) => (isTxn(call) ? (left.shift() ?? 'pass') : 'pass');
};
const codeOf = (error: unknown): string => (isLockError(error) ? error.code : String(error));
const guards = async (): Promise<number> => (await rig.admin.keys('klock/g/')).length;

describe('an answer of etcd that is lost', () => {
  it('[D-48] [I8] of an acquire that granted: the copy finds the grant, with the same token and fence', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    net.fate = fates('lose-reply');
    const lock = await klock.acquire(key);
    const report = await klock.inspect(key);
    expect(report.holders.map(({ fence }) => fence)).toEqual([lock.fence]);
    expect(await lock.release()).toBe('released');
    expect(await rig.entries(key)).toEqual([]);
  });

  it('[D-48] [WD-05] of an acquire nobody waits for any more: the caller is told LOCK_UNAVAILABLE, and the orphan is taken back once etcd answers', async () => {
    const { klock, net } = rig.faultyClient();
    await klock.acquire(rig.key());
    const key = rig.key();
    let away = true;
    net.fate = (call) => (isTxn(call) && away ? (call.index === 1 ? 'lose-reply' : 'lose-request') : 'pass');
    expect(codeOf(await failure(klock.acquire(key, { waitMs: 100 })))).toBe('LOCK_UNAVAILABLE');
    expect(await rig.entries(key)).toHaveLength(1);
    away = false;
    await until(async () => (await rig.entries(key)).length === 0, 3_000, 'taken back');
    expect(await rig.client().tryAcquire(key)).toBeDefined();
  });

  it('[D-48] [WD-05] of tryAcquire: undefined is never answered while a copy may still be granted', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    await klock.acquire(rig.key());
    const holder = await rig.client().acquire(key);
    net.fate = fates(400);
    const before = await guards();
    expect(await klock.tryAcquire(key)).toBeUndefined();
    expect(await guards()).toBe(before + 1);
    await holder.release();
    await Promise.all(net.late);
    await pause(50);
    expect(await rig.entries(key)).toEqual([]);
  });

  it('[I8] [D4] a copy of an acquire that arrives after its lock was released makes no second grant: a guard stands there', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    net.fate = fates(600);
    const lock = await klock.acquire(key);
    const before = await guards();
    expect(await lock.release()).toBe('released');
    expect(await guards()).toBe(before + 1);
    expect(await Promise.all(net.late)).toHaveLength(1);
    expect(await rig.entries(key)).toEqual([]);
  });

  it('[I8] [D4] the guard outlives the client: a copy that comes after its close is refused by it', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    net.fate = fates(600);
    await (await klock.acquire(key)).release();
    await klock.close({ graceMs: 1 });
    const [answer] = await Promise.all(net.late);
    expect(answer).toMatchObject({ succeeded: false });
    expect(await rig.entries(key)).toEqual([]);
  });

  it('[H-06] [I8] an abort while the acquire is unanswered rejects at once, and its late copy is never granted', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    await klock.acquire(rig.key());
    const gone = new AbortController();
    net.fate = fates(500, 'lose-request', 'lose-request');
    const waiting = failure(klock.acquire(key, { signal: gone.signal }));
    await until(() => net.late.length === 1, 1_000, 'first copy sent');
    const startMs = performance.now();
    gone.abort();
    expect(codeOf(await waiting)).toBe('LOCK_ABORTED');
    expect(performance.now() - startMs).toBeLessThan(100);
    await Promise.all(net.late);
    await until(async () => (await guards()) > 0, 2_000, 'guarded');
    await pause(50);
    expect(await rig.entries(key)).toEqual([]);
  });

  it('an acquire sent once and answered needs no guard, whether it was granted, timed out or aborted', async () => {
    const { klock } = rig.faultyClient();
    const before = await guards();
    const key = rig.key();
    const lock = await klock.acquire(key);
    const gone = new AbortController();
    const waits = [
      failure(klock.acquire(key, { waitMs: 60 })),
      failure(klock.acquire(key, { signal: gone.signal })),
    ];
    await until(async () => (await rig.entries(key)).length === 3, 2_000, 'queued');
    gone.abort();
    await Promise.all(waits);
    await lock.release();
    await until(async () => (await rig.entries(key)).length === 0, 1_000, 'gone');
    expect(await guards()).toBe(before);
  });

  it('[D-48] [I8] of the transaction that granted a waiter: the copy finds the grant, and the fence is its revision', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    const holder = await rig.client().acquire(key);
    net.fate = fates('pass', 'lose-reply');
    const waiting = klock.acquire(key);
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    await holder.release();
    const lock = await waiting;
    expect((await klock.inspect(key)).holders[0]!.fence).toBe(lock.fence);
    expect(lock.fence).toBeGreaterThan(holder.fence);
    expect(await lock.release()).toBe('released');
  });

  it('[D-29] [H-16] of a release: it is asked again and says released; the section was not kept waiting for it', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    const lock = await klock.acquire(key);
    net.fate = fates('lose-reply');
    expect(await lock.release()).toBe('released');
    expect(await rig.entries(key)).toEqual([]);
  });

  it('[D-36] [H-16] a release nobody answers is unknown after its timeout, goes on behind, and frees the key once etcd answers', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    const lock = await klock.acquire(key);
    net.fate = (call) => (isTxn(call) ? 'lose-request' : 'pass');
    expect(await lock.release({ timeoutMs: 150 })).toBe('unknown');
    expect([lock.held, (await rig.entries(key)).length]).toEqual([false, 1]);
    net.fate = () => 'pass';
    await until(async () => (await rig.entries(key)).length === 0, 2_000, 'freed');
  });

  it('a wait that ends while nobody answers is LOCK_UNAVAILABLE, not LOCK_TIMEOUT, and nothing stays behind', async () => {
    const { klock, net } = rig.faultyClient();
    const key = rig.key();
    const holder = await rig.client().acquire(key);
    const waiting = failure(klock.acquire(key, { waitMs: 300 }));
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    net.fate = (call) => (isTxn(call) ? 'lose-request' : 'pass');
    expect(codeOf(await waiting)).toBe('LOCK_UNAVAILABLE');
    net.fate = () => 'pass';
    await until(async () => (await rig.entries(key)).length === 1, 2_000, 'taken back');
    await holder.release();
  });

  it('[D-36] close tells of locks it could not release by losing them, and etcd frees them with their lease', async () => {
    const { klock, net } = rig.faultyClient({ ttlMs: 1_000 });
    const key = rig.key();
    const lock = await klock.acquire(key);
    net.fate = () => 'lose-request';
    const startMs = performance.now();
    await klock.close({ graceMs: 1 });
    expect(performance.now() - startMs).toBeLessThan(1_500);
    const end = await lock.done;
    expect(end.end === 'lost' && end.reason).toBe('closed');
    const next = await rig.client().acquire(key, { waitMs: 5_000 });
    expect(next.fence).toBeGreaterThan(lock.fence);
  });
});

describe('a key kept after its section', () => {
  it('[B-057] stays taken for others in front of their queue, outlives its client, and ends with a lease of its own', async () => {
    const { klock } = rig.faultyClient();
    const other = rig.client();
    const key = rig.key();
    const section = await klock[ENTER_SECTION](key, { atLeastMs: 600 });
    const waiting = other.acquire(key, { waitMs: 10_000 });
    await until(async () => (await rig.entries(key)).length === 2, 2_000, 'queued');
    await section.leave();
    expect((await other.inspect(key)).holders.map(({ fence }) => fence)).toEqual([section.handle.fence]);
    await klock.close({ graceMs: 1 });
    await pause(200);
    expect((await other.inspect(key)).waiterCount).toBe(1);
    expect((await waiting).fence).toBeGreaterThan(section.handle.fence);
  });
});

it(`[D-48] whatever is lost of 300 acquires and releases, nobody holds together and nothing is left at the end${scaleNote(10)}`, async () => {
  const seed = chosenSeed();
  console.log(`seed ${seed} (KLOCK_SEED)`);
  let state = seed;
  const chance = (): number =>
    (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff) / 0x7fff_ffff;
  const key = rig.key();
  let inside = 0;
  let turns = 0;
  const clients = Array.from({ length: 3 }, () => rig.faultyClient());
  for (const { net } of clients) {
    net.fate = (call) => {
      const lot = chance();
      if (!isTxn(call) || lot > 0.3) return 'pass';
      return lot < 0.1 ? 'lose-reply' : lot < 0.2 ? 'lose-request' : Math.floor(lot * 2_000);
    };
  }
  const work = clients.flatMap(({ klock }) =>
    Array.from({ length: scaled(100, 10) }, async () => {
      await klock.withLock(key, { waitMs: 60_000 }, async () => {
        expect(++inside).toBe(1);
        await pause(1);
        inside--;
        turns++;
      });
    }),
  );
  await Promise.all(work);
  await Promise.all(clients.flatMap(({ net }) => net.late));
  expect(turns).toBe(work.length);
  await until(async () => (await rig.entries(key)).length === 0, 3_000, 'nothing left');
}, 60_000);
