import { createKlock, settle, type KlockInstance, type LockHandle } from '../../core/index.js';
import { memoryDriver, memoryStore, type MemoryStore } from './index.js';

describe('a caller that gives up in the very turn in which it is granted', () => {
  let store: MemoryStore;
  let opened: KlockInstance[];
  const client = (): KlockInstance => {
    const klock = createKlock({ driver: memoryDriver({ store }) });
    opened.push(klock);
    return klock;
  };

  beforeEach(() => {
    store = memoryStore();
    opened = [];
  });
  afterEach(() => Promise.all(opened.map((klock) => klock.close())));

  /** Waits behind `lock`, and gives up as soon as that is lost. */
  const waitUntilLost = async (lock: LockHandle): Promise<unknown> => {
    const giveUp = new AbortController();
    lock.signal.addEventListener('abort', () => giveUp.abort());
    const waiting = client()
      .acquire('k', { signal: giveUp.signal })
      .catch((error: unknown) => error);
    await settle();
    return waiting;
  };

  it('[I12] gets no lock and leaves none behind when the holder’s is revoked', async () => {
    const waiting = waitUntilLost(await client().acquire('k'));
    await settle();
    const operator = client();
    await operator.revoke('k');
    expect(await waiting).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(await operator.isLocked('k')).toBe(false);
  });

  it('[I12] gets no lock and leaves none behind when the holder’s session ends', async () => {
    const holder = client();
    const lock = await holder.acquire('k');
    const waiting = waitUntilLost(lock);
    await settle();
    const [session] = store['engine'].state.sessions.all();
    store.apply({ type: 'close-session', sessionId: session!.id, reason: 'client_close' });
    expect(await waiting).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(await holder.isLocked('k')).toBe(false);
    // The session of whoever gave up is as good as before.
    const next = await opened[1]!.acquire('k', { waitMs: 100 });
    expect(await next.release()).toBe('released');
  });

  it('lets the next in line have it', async () => {
    const waiting = waitUntilLost(await client().acquire('k'));
    await settle();
    const next = client().acquire('k', { waitMs: 1_000 });
    await settle();
    await client().revoke('k');
    expect(await waiting).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(await (await next).release()).toBe('released');
  });
});
