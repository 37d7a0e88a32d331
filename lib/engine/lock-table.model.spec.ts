import fc from 'fast-check';
import { keysConflict, type LockKey } from '../core/index.js';
import { scaled, scaleNote } from '../../test/support/scale.js';
import { LockTable, TableEntry } from './index.js';
import { chosenSeed } from '../../test/support/seed.js';

/** KLOCK_SEED repeats a run. */
const runs = scaled(3_000, 10);
const seed = chosenSeed();

interface Asked {
  readonly entry: TableEntry;
  readonly key: LockKey;
  readonly arrival: number;
  stands: 'unadmitted' | 'admitted' | 'held' | 'out';
}

/** The grant order in as few words as possible: whoever arrived first and has nothing before it goes first. */
class Model {
  readonly asked: Asked[] = [];

  settle(): void {
    const live = this.asked.filter((each) => each.stands !== 'out').sort((a, b) => a.arrival - b.arrival);
    const moved = live.find((each) => this.mayMove(each, live));
    if (moved === undefined) return;
    moved.stands = moved.stands === 'unadmitted' && moved.key.length === 2 ? 'admitted' : 'held';
    this.settle();
  }

  /** An L1 request needs its tree empty of holders and admitted ones; an L2 request is admitted, then waits for its key. */
  private mayMove(each: Asked, live: readonly Asked[]): boolean {
    const others = live.filter((other) => other !== each && other.key[0] === each.key[0]);
    const before = others.filter((other) => other.arrival < each.arrival && other.stands === 'unadmitted');
    const inside = others.filter((other) => other.stands === 'admitted' || other.stands === 'held');
    if (each.stands === 'unadmitted' && each.key.length === 1)
      return before.length === 0 && inside.length === 0;
    if (each.stands === 'unadmitted')
      return before.length === 0 && !inside.some((other) => other.key.length === 1);
    const sameKey = inside.filter((other) => other.key[1] === each.key[1]);
    return (
      each.stands === 'admitted' &&
      !sameKey.some((other) => other.stands === 'held' || other.arrival < each.arrival)
    );
  }
}

const key = fc.constantFrom<LockKey>(['t'], ['t', 'x'], ['t', 'y'], ['t', 'z'], ['u'], ['u', 'x']);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ what: fc.constant('acquire' as const), key, which: fc.constant(0) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constantFrom('try' as const, 'release' as const, 'withdraw' as const, 'return' as const),
      key,
      which: fc.nat(),
    }),
  },
);

/** Applies a step to both, where it means something. */
function perform(
  { what, key: wanted, which }: { what: string; key: LockKey; which: number },
  table: LockTable,
  model: Model,
): void {
  if (what === 'acquire') {
    const entry = new TableEntry(wanted);
    table.acquire(entry);
    model.asked.push({ entry, key: wanted, arrival: model.asked.length, stands: 'unadmitted' });
    return model.settle();
  }
  if (what === 'try') {
    const entry = new TableEntry(wanted);
    const conflicting = model.asked.some((each) => each.stands !== 'out' && keysConflict(each.key, wanted));
    const got = table.tryAcquire(entry);
    expect(got).toBe(!conflicting);
    if (got) model.asked.push({ entry, key: wanted, arrival: model.asked.length, stands: 'held' });
    return;
  }
  const each = model.asked[which % Math.max(1, model.asked.length)];
  if (each === undefined) return;
  if (what === 'release' && each.stands === 'held') table.release(each.entry);
  else if (what === 'withdraw' && (each.stands === 'unadmitted' || each.stands === 'admitted')) {
    table.withdraw(each.entry);
  } else if (what === 'return' && each.stands === 'out' && each.entry.arrival > 0) {
    table.enqueue(each.entry);
    each.stands = 'unadmitted';
    return model.settle();
  } else return;
  each.stands = 'out';
  model.settle();
}

/** What the table does wrong, by arrival number; nothing is the hope. */
function faults(model: Model, table: LockTable): string[] {
  const live = model.asked.filter((each) => each.stands !== 'out');
  const found = live.flatMap((each) => faultsOf(each, live));
  return table.held + table.waiting === live.length ? found : [...found, 'the counts are wrong'];
}

function faultsOf(each: Asked, live: readonly Asked[]): string[] {
  const { entry, arrival } = each;
  if (entry.held !== (each.stands === 'held'))
    return [`${arrival} is ${entry.stage} but ${each.stands} in the model`];
  const rivals = live.filter((other) => other !== each && keysConflict(other.key, each.key));
  if (entry.held) return rivals.some((other) => other.entry.held) ? [`${arrival} holds beside a rival`] : [];
  const reason = rivals.some((other) => other.entry.held || other.arrival < arrival);
  return reason ? [] : [`${arrival} waits for nobody`];
}

it(`[K-002] [K-006] [K-008] [K-009] [K-010] [K-013] [I2] grants what the model grants, blocks nobody without a reason, and is empty at the end${scaleNote(10)} (seed ${seed})`, () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const table = new LockTable(() => undefined);
      const model = new Model();
      for (const each of steps) {
        perform(each, table, model);
        expect(faults(model, table)).toEqual([]);
      }
      for (const { entry } of model.asked) table.withdraw(entry);
      for (const { entry } of model.asked) table.release(entry);
      expect([table.held, table.waiting, table.trees]).toEqual([0, 0, 0]);
    }),
    { seed, numRuns: runs },
  );
});
