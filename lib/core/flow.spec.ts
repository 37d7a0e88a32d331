import { createKlock, type KlockInstance } from './front-end.js';
import { isLockError } from './errors.js';
import { ScriptedDriver } from './scripted-driver.js';
import type { LockHandle } from './lock-handle.js';
import { ENTER_SECTION } from './section.js';

const count = { reentry: 'count' } as const;
let klock: KlockInstance;
let driver: ScriptedDriver;

beforeEach(() => {
  driver = new ScriptedDriver();
  klock = createKlock({ driver });
});

async function code(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    return isLockError(error) ? error.code : String(error);
  }
}

describe('reentry by flow (design D10)', () => {
  it('[K-023] [WK-31] a wait for one’s own lock is refused at once, naming both sections', async () => {
    const outer = await klock[ENTER_SECTION]('k', { label: 'Orders.a' });
    const inner = outer.run(() => klock[ENTER_SECTION]('k', { label: 'Orders.b' }));
    await expect(inner).rejects.toThrow(/Orders\.b: "k" cannot be acquired: Orders\.a already holds "k"/);
    await outer.leave();
  });

  it('[WL-07] two flows of one process exclude each other: only nesting re-enters', async () => {
    let acquires = 0;
    const plain = driver.onAcquire;
    driver.onAcquire = (request) => (acquires++, plain(request));
    await Promise.all([
      klock.withLock('k', count, () => undefined),
      klock.withLock('k', count, () => undefined),
    ]);
    expect(acquires).toBe(2);
  });

  it('an L1 covers its L2; several of them run in parallel and share its fence', async () => {
    await klock.withLock('t', async (outer) => {
      const fences = await Promise.all([
        klock.withLock(['t', 'a'], count, (lock) => lock.fence),
        klock.withLock(['t', 'b'], count, (lock) => lock.fence),
      ]);
      expect(fences).toEqual([outer.fence, outer.fence]);
    });
    expect(driver.released).toHaveLength(1);
  });

  it('a second branch on the same key is refused while the first runs, and let in after it', async () => {
    await klock.withLock('k', async () => {
      const [first, second] = await Promise.all([
        code(klock.withLock('k', count, async () => await Promise.resolve())),
        code(klock.withLock('k', count, async () => await Promise.resolve())),
      ]);
      expect([first, second]).toEqual(['none', 'LOCK_REENTRY']);
      expect(await code(klock.withLock('k', count, () => undefined))).toBe('none');
    });
  });

  it('a branch deeper in the tree counts too, ancestors never do', async () => {
    await klock.withLock('k', async () => {
      let release: () => void = () => undefined;
      const deep = klock.withLock('other', () =>
        klock.withLock('k', count, () =>
          klock.withLock('k', count, () => new Promise<void>((resolve) => (release = resolve))),
        ),
      );
      await new Promise((resolve) => setImmediate(resolve));
      expect(await code(klock.withLock('k', count, () => undefined))).toBe('LOCK_REENTRY');
      release();
      await deep;
    });
  });

  it('L2 then L1 in one flow is always refused, counted or not', async () => {
    await klock.withLock(['t', 'a'], async () => {
      expect(await code(klock.withLock('t', count, () => undefined))).toBe('LOCK_REENTRY');
      expect(await code(klock.acquire('t', count))).toBe('LOCK_REENTRY');
      expect(await code(klock.withLock(['t', 'b'], () => undefined))).toBe('none');
    });
  });

  it('an L1 above an L2 frame still covers a sibling and the L1 itself', async () => {
    await klock.withLock('t', () =>
      klock.withLock(['t', 'a'], count, async () => {
        expect(await code(klock.withLock(['t', 'b'], count, () => undefined))).toBe('none');
      }),
    );
  });

  it('a frame whose lock is no longer held counts as absent', async () => {
    let later: Promise<LockHandle> | undefined;
    await klock.withLock('k', (lock) => {
      later = lock.done.then(() => klock.acquire('k'));
    });
    expect((await later)?.held).toBe(true);
  });

  it('the grant ends with the last of its counted handles, even one that outlives the outer section', async () => {
    let finish: () => void = () => undefined;
    let inner: Promise<void> | undefined;
    await klock.withLock('k', () => {
      inner = klock.withLock('k', count, () => new Promise<void>((resolve) => (finish = resolve)));
    });
    expect(driver.released).toEqual([]);
    finish();
    await inner;
    expect(driver.released).toHaveLength(1);
  });

  it('locks of another store with the same key are other locks', async () => {
    const other = createKlock({ driver: Object.assign(new ScriptedDriver(), { store: 'scripted:2' }) });
    await klock.withLock('k', async () => {
      expect(await code(other.withLock('k', () => undefined))).toBe('none');
    });
  });
});

describe('current', () => {
  it('is the innermost held lock of this instance, or the one that covers a key', async () => {
    expect(klock.current()).toBeUndefined();
    await klock.withLock('t', async (outer) => {
      await klock.withLock('u', (inner) => {
        expect(klock.current()).toBe(inner);
        expect(klock.current(['t', 'x'])).toBe(outer);
        expect(klock.current('v')).toBeUndefined();
      });
      expect(klock.current()).toBe(outer);
      expect(createKlock({ driver: new ScriptedDriver() }).current()).toBeUndefined();
    });
    expect(klock.current()).toBeUndefined();
  });

  it('sees through views: a prefix is part of the key', async () => {
    const view = klock.view('billing');
    await view.withLock('k', (lock) => {
      expect(lock.key).toEqual(['k']);
      expect(view.current('k')).toBe(lock);
      expect(klock.current('billing/k')).toBe(lock);
      expect(klock.current('k')).toBeUndefined();
    });
  });
});

describe('owners', () => {
  it('[L-05] re-enter by count, are refused otherwise, and mean nothing to another instance', async () => {
    const owner = klock.owner();
    const outer = await klock.acquire('k', { owner });
    expect(await code(klock.acquire('k', { owner }))).toBe('LOCK_REENTRY');
    const inner = await klock.acquire('k', { owner: outer, reentry: 'count' });
    expect(inner.token).toBe(outer.token);
    const other = createKlock({ driver: new ScriptedDriver() });
    expect(await code(other.acquire('k', { owner }))).toBe('INVALID_OPTION');
    expect(await code(klock.acquire('k', { owner: { id: 'x' } as never }))).toBe('INVALID_OPTION');
  });

  it('an owner that holds an L2 cannot wait for its L1', async () => {
    const owner = klock.owner();
    await klock.acquire(['t', 'a'], { owner });
    expect(await code(klock.acquire('t', { owner }))).toBe('LOCK_REENTRY');
  });

  it('disposing an owner releases what it still holds', async () => {
    await using owner = klock.owner();
    const lock = await klock.acquire('k', { owner });
    await owner[Symbol.asyncDispose]();
    expect(lock.held).toBe(false);
    expect(driver.released).toHaveLength(1);
  });
});

it('[B-063] two copies of the package share one flow', () => {
  expect((globalThis as Record<symbol, unknown>)[Symbol.for('klock.flow.v1')]).toBeDefined();
});
