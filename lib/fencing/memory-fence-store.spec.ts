import {
  Oracle,
  STORE,
  fenceStoreCases,
  proof,
  random,
  randomWrite,
  seed,
  verdict,
} from '../../test/e2e/fencing-cases.js';
import { memoryFenceStore } from './memory-fence-store.js';

describe('the fence store of one process', () => {
  fenceStoreCases((_space, options) => memoryFenceStore(options));

  it(`with few marks never accepts what the list of all writes refuses (seed ${seed})`, async () => {
    for (let round = 0; round < 40; round++) {
      const next = random(seed + round);
      const oracle = new Oracle();
      const store = memoryFenceStore({ maxMarks: 2 + next(5) });
      for (let step = 0; step < 150; step++) {
        const write = randomWrite(next, 4, 4, BigInt(step));
        if ((await verdict(store, write)) !== 'accepted') continue;
        expect([round, step, oracle.allows(write)]).toEqual([round, step, true]);
        oracle.note(write);
      }
    }
  });

  it('with few marks still accepts every write under a grant newer than all before', async () => {
    const store = memoryFenceStore({ maxMarks: 2 });
    for (let fence = 1n; fence < 500n; fence++) {
      expect(await verdict(store, proof(fence, `t${fence % 7n}`, `r${fence % 5n}`))).toBe('accepted');
    }
  });

  it('a key whose mark was folded is judged by the floor: too old is refused, a newer grant is not', async () => {
    const store = memoryFenceStore({ maxMarks: 2 });
    await store.accept(proof(10n, 'a'));
    await store.accept(proof(20n, 'b'));
    await store.accept(proof(30n, 'c'));
    expect(await verdict(store, proof(9n, 'a'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(9n, 'never-seen'))).toBe('STALE_FENCE');
    expect(await verdict(store, proof(10n, 'a'))).toBe('accepted');
  });

  it('[I12] keeps no more marks than it was told', async () => {
    const store = memoryFenceStore({ maxMarks: 50 });
    for (let fence = 1n; fence < 1_000n; fence++) await store.accept(proof(fence, `t${fence}`, 'r'));
    expect((store as unknown as { marks: Map<string, unknown> }).marks.size).toBe(50);
  });

  it('refuses options it does not know and bounds that make no sense, naming them', () => {
    expect(() => memoryFenceStore({ maxMarks: 1 })).toThrow(
      /maxMarks must be a whole number from 2 on, got 1/,
    );
    expect(() => memoryFenceStore({ stores: [] })).toThrow(/stores must be an array of 1 to 16 names/);
    expect(() => memoryFenceStore({ store: STORE } as never)).toThrow(
      /no option "store"; known are stores, maxMarks/,
    );
  });
});
