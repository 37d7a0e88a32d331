import fc from 'fast-check';
import { DeadlineHeap, type Due } from './deadline-heap.js';
import { chosenSeed } from '../../test/support/seed.js';

const seed = chosenSeed();

const item = (): Due => ({ dueMs: Infinity, heapIndex: -1, sooner: undefined, later: undefined });

describe('DeadlineHeap', () => {
  it(`gives back every item at its last instant, soonest first, however items are moved and removed (seed ${seed})`, () => {
    const steps = fc.array(fc.tuple(fc.nat(30), fc.option(fc.nat(1_000), { nil: Infinity, freq: 2 })), {
      maxLength: 200,
      size: 'max',
    });
    fc.assert(
      fc.property(steps, (moves) => {
        const items = Array.from({ length: 31 }, item);
        const expected = new Map<Due, number>();
        const heap = new DeadlineHeap<Due>();
        for (const [index, dueMs] of moves) {
          const moved = items[index] ?? item();
          heap.set(moved, dueMs);
          if (dueMs === Infinity) expected.delete(moved);
          else expected.set(moved, dueMs);
          expect(heap.nextMs).toBe(Math.min(Infinity, ...expected.values()));
          expect(heap.size).toBe(expected.size);
        }
        const taken: number[] = [];
        for (let next = heap.nextMs; next < Infinity; next = heap.nextMs) {
          expect(heap.takeDue(next - 1)).toBeUndefined();
          taken.push(expected.get(heap.takeDue(next) ?? item()) ?? NaN);
        }
        expect(taken).toEqual([...expected.values()].sort((a, b) => a - b));
        expect(heap.size).toBe(0);
      }),
      { seed, numRuns: 60 },
    );
  });
});
