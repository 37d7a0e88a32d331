import { isLockError, type LockKey } from '../core/index.js';
import { countLooks } from './links.spec-support.js';
import { LockTable, TableEntry } from './index.js';

function setUp(shards?: number) {
  const granted: TableEntry[] = [];
  const table = new LockTable((entry) => granted.push(entry), shards === undefined ? {} : { shards });
  const ask = (...key: string[]) => {
    const entry = new TableEntry(key as unknown as LockKey);
    table.acquire(entry);
    return entry;
  };
  return { table, granted, ask };
}

describe('LockTable', () => {
  it('[K-020] accepts any shard count from 0 and refuses a negative one, naming it', () => {
    for (const shards of [0, 1, 1024, 5000]) expect(() => setUp(shards)).not.toThrow();
    for (const shards of [-1, 1.5, NaN, Infinity]) {
      const error = catchError(() => setUp(shards));
      expect(isLockError(error, 'INVALID_OPTION')).toBe(true);
      expect((error as Error).message).toContain('shards');
      expect((error as Error).message).toContain(String(shards));
    }
  });

  it.each([0, 1, 1024])('[K-021] grants in the same order whatever the shard count (%s)', (shards) => {
    const { table, granted, ask } = setUp(shards);
    const holder = ask('t');
    const [x, y, all, z] = [ask('t', 'x'), ask('t', 'y'), ask('t'), ask('t', 'z')];
    const other = ask('u', 'x');
    expect(other.held).toBe(true);
    table.release(holder);
    expect(granted).toEqual([x, y]);
    table.release(x);
    table.release(y);
    expect(granted).toEqual([x, y, all]);
    table.release(all);
    expect(granted).toEqual([x, y, all, z]);
  });

  it('[K-017] [K-095] frees a key once however often its holder releases', () => {
    const { table, ask } = setUp();
    const first = ask('t', 'x');
    const second = ask('t', 'x');
    const third = ask('t', 'x');
    expect([table.release(first), table.release(first), table.release(first)]).toEqual([true, false, false]);
    expect([second.held, third.held]).toEqual([true, false]);
  });

  it('[K-011] [K-014] withdraws a waiter but never a holder', () => {
    const { table, ask } = setUp();
    const first = ask('t');
    const second = ask('t');
    expect(table.withdraw(second)).toBe(true);
    expect(table.withdraw(second)).toBe(false);
    table.release(first);
    expect(second.held).toBe(false);
    const third = ask('t');
    expect(table.withdraw(third)).toBe(false);
    expect(third.held).toBe(true);
  });

  it('[K-018] [K-019] [B-011] keeps a node for a waiter and nothing once holders and waiters are gone', () => {
    const { table, ask } = setUp();
    for (let i = 0; i < 100_000; i++) table.release(ask(`t${i}`, 'x'));
    const holder = ask('t');
    const waiters = Array.from({ length: 50_000 }, (_, i) => ask('t', `k${i % 100}`));
    expect([table.trees, table.waiting]).toEqual([1, 50_000]);
    for (const waiter of waiters) table.withdraw(waiter);
    expect([table.trees, table.waiting, [...(table.tree('t')?.children() ?? [])].length]).toEqual([1, 0, 0]);
    const last = ask('t');
    table.release(holder);
    expect([last.held, table.trees]).toEqual([true, 1]);
    table.release(last);
    expect([table.trees, table.held]).toEqual([0, 0]);
  });

  it('[K-015] leaves nothing of a request that asked once in vain', () => {
    const { table, ask } = setUp();
    const holder = ask('t', 'x');
    const asked = new TableEntry(['t', 'x']);
    expect(table.tryAcquire(asked)).toBe(false);
    table.release(holder);
    expect([asked.stage, table.trees]).toEqual(['out', 0]);
  });

  it('keeps keys of a whole tree apart from those of one below it, and texts apart that look alike', () => {
    const { ask } = setUp();
    expect(ask('a', 'b/c').held).toBe(true);
    expect(ask('a/b', 'c').held).toBe(true);
    expect(ask('a/b/c').held).toBe(true);
    expect(ask('a', '').held).toBe(true);
    expect(ask('', 'a').held).toBe(true);
    expect(ask('').held).toBe(false);
  });

  it('[WK-38] takes a waiter out of a queue of thousands by looking at its neighbours only', () => {
    const { table, ask } = setUp();
    ask('t', 'x');
    const waiters = Array.from({ length: 2_000 }, () => ask('t', 'x'));
    const looks = countLooks(waiters);
    waiters.forEach((waiter, index) => index % 2 === 1 && table.withdraw(waiter));
    waiters.reverse().forEach((waiter) => table.withdraw(waiter));
    expect(table.waiting).toBe(0);
    expect(looks.count).toBeLessThan(10 * waiters.length);
  });

  it('grants nothing while closed, and on reopening what could not be granted meanwhile', () => {
    const { table, granted, ask } = setUp();
    const [holder, free] = [ask('t', 'x'), ask('u')];
    const [waiter, behind] = [ask('t', 'x'), ask('t')];
    table.close();
    table.release(holder);
    table.release(free);
    const late = ask('u');
    const fresh = ask('v', 'x');
    expect([table.tryAcquire(new TableEntry(['w'])), granted]).toEqual([false, []]);
    table.reopen();
    expect(granted).toEqual(expect.arrayContaining([waiter, late, fresh]));
    expect(behind.held).toBe(false);
    for (const entry of [waiter, late, fresh, behind]) table.release(entry);
    expect(table.trees).toBe(0);
  });

  it('tells whether a key or anything that conflicts with it is held', () => {
    const { table, ask } = setUp();
    ask('t', 'x');
    expect([
      table.isLocked('t'),
      table.isLocked('t', 'x'),
      table.isLocked('t', 'y'),
      table.isLocked('u'),
    ]).toEqual([true, true, false, false]);
    ask('u');
    expect([table.isLocked('u'), table.isLocked('u', 'y')]).toEqual([true, true]);
  });
});

function catchError(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}
