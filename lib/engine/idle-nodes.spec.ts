import { IdleNodes, type Idle } from './idle-nodes.js';
import { LockTable } from './lock-table.js';
import { TableEntry } from './table-entry.js';

const ROOM = 4_096;

function node(): Idle {
  return { idleSlot: undefined };
}

describe('nodes that nobody is in', () => {
  it('[I12] are kept up to 4,096; beyond that the one that was left first goes', () => {
    const idle = new IdleNodes();
    const nodes = Array.from({ length: ROOM + 2 }, node);
    const gone = nodes.map((each) => idle.add(each)).filter((each) => each !== undefined);
    // Whoever still knows it takes nothing from the one that stands in its place.
    for (const each of gone) idle.take(each);
    expect([gone.length, gone[0] === nodes[0], gone[1] === nodes[1], idle.size]).toEqual([
      2,
      true,
      true,
      ROOM,
    ]);
  });

  it('are not given up once somebody is in them again', () => {
    const idle = new IdleNodes();
    const nodes = Array.from({ length: ROOM }, node);
    for (const each of nodes) idle.add(each);
    idle.take(nodes[0] as Idle);
    expect([idle.size, nodes[0]?.idleSlot]).toEqual([ROOM - 1, undefined]);
    const further = [idle.add(node()), idle.add(node())];
    expect([further[0] === undefined, further[1] === nodes[1]]).toEqual([true, true]);
  });

  it('push nobody out where one comes and goes alone', () => {
    const idle = new IdleNodes();
    const [busy, ...others] = Array.from({ length: ROOM }, node) as [Idle, ...Idle[]];
    for (const each of others) idle.add(each);
    for (let time = 0; time < 10 * ROOM; time++) {
      expect(idle.add(busy)).toBeUndefined();
      idle.take(busy);
    }
    expect(idle.size).toBe(ROOM - 1);
  });
});

describe('a table whose keys were used once', () => {
  it.each([
    ['an L1', (at: number) => new TableEntry([`tree-${at}`])],
    ['a key below a busy L1', (at: number) => new TableEntry(['busy', `key-${at}`])],
  ])('[I12] has no tree and no key left but the holder of the one in use: %s', (_, entryOf) => {
    const table = new LockTable<TableEntry>(() => undefined);
    const holder = new TableEntry(['busy', 'held']);
    table.tryAcquire(holder);
    for (let at = 0; at < 3 * ROOM; at++) {
      const entry = entryOf(at);
      expect(table.tryAcquire(entry)).toBe(true);
      table.release(entry);
    }
    expect([table.trees, table.held, [...table.allTrees()].map(({ l1 }) => l1)]).toEqual([1, 1, ['busy']]);
    expect([...(table.tree('busy')?.children() ?? [])].map(({ l2 }) => l2)).toEqual(['held']);
    expect([table.isLocked('tree-0'), table.isLocked('busy', 'key-0'), table.isLocked('busy')]).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('[I12] finds the key of one that has left free, and held by whoever took it again', () => {
    const table = new LockTable<TableEntry>(() => undefined);
    const [held, first, second, again] = [
      ['a', 'x'],
      ['a', 'y'],
      ['a', 'y'],
      ['a', 'y'],
    ].map(([l1, l2]) => new TableEntry([l1 as string, l2 as string])) as [
      TableEntry,
      TableEntry,
      TableEntry,
      TableEntry,
    ];
    expect([table.tryAcquire(held), table.tryAcquire(first), table.tryAcquire(second)]).toEqual([
      true,
      true,
      false,
    ]);
    table.release(first);
    expect([table.tryAcquire(second), table.tryAcquire(again)]).toEqual([true, false]);
    table.release(second);
    table.release(held);
    expect([table.trees, table.tryAcquire(new TableEntry(['a'])), table.trees]).toEqual([0, true, 1]);
  });
});
