import { simulate } from '../../lib/testing/simulation/index.js';
import { klockSystem } from './klock-system.js';
import { mutants, withMutant, type Mutant } from './mutants.js';

/**
 * Rows of the safety notes' table that are not here: "deadline from the reply, margin kept" (the margin hides it in
 * 11,998 of 12,000 seeds: the row without margin is here), and "no reconciliation" and "no idempotence" by themselves
 * on a channel, where numbers leave nothing to make good (both are here with a defect that needs them).
 */
function search({ budget, adjust }: Mutant) {
  return simulate({
    system: klockSystem,
    from: 1,
    seeds: budget,
    ...(adjust === undefined ? {} : { adjust }),
  });
}

const bad = mutants.filter(({ shownBy }) => shownBy !== 'healed');
const healed = mutants.filter(({ shownBy }) => shownBy === 'healed');

describe('the simulator finds each defect that is put in', () => {
  it.each(bad.map((mutant) => [mutant.name, mutant.from, mutant] as const))(
    '%s (%s)',
    async (_name, _from, mutant) => {
      const { failed } = await withMutant(mutant, () => search(mutant));
      expect(mutant.shownBy).toContain(failed?.finding?.invariant);
    },
    300_000,
  );
});

describe('a defect that another part makes good for harms nobody', () => {
  it.each(healed.map((mutant) => [mutant.name, mutant.from, mutant] as const))(
    '%s (%s)',
    async (_name, _from, mutant) => {
      const { failed } = await withMutant(mutant, () => search(mutant));
      expect(failed?.finding).toBeUndefined();
    },
    300_000,
  );
});

it('a defect that is taken out again leaves nothing behind', async () => {
  for (const mutant of mutants) await withMutant(mutant, () => Promise.resolve());
  expect((await simulate({ system: klockSystem, from: 1, seeds: 20 })).failed).toBeUndefined();
});
