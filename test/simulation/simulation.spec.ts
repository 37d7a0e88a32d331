import {
  planFor,
  runPlan,
  shrink,
  simulate,
  type Fault,
  type Plan,
  type SystemFactory,
} from '../../lib/testing/simulation/index.js';
import { scaled, scaleNote } from '../support/scale.js';
import { klockSystem } from './klock-system.js';
import { mutants, withMutant, type Mutant } from './mutants.js';

const seeds = scaled(10_000, 20);

it(`[I1] [I2] [I3] [I4] [I5] [I6] [I7] [I8] [I9] [I10] [I11] [I12] ${seeds} seeds of client, server and network trouble breach nothing${scaleNote(20)}`, async () => {
  const { failed, ...total } = await simulate({ system: klockSystem, from: 1, seeds });
  expect(failed?.finding).toBeUndefined();
  expect(total.simulatedMs).toBeGreaterThan(1_000 * 60_000);
  // A run in which nothing happens proves nothing.
  expect(total.grants).toBeGreaterThan(20 * seeds);
  expect(total.refusedWrites).toBeGreaterThan(0);
}, 1_800_000);

it('a seed replays exactly, told or not', async () => {
  const plan = planFor(11);
  const [first, second, untold] = [
    await runPlan(plan, klockSystem, { trace: true }),
    await runPlan(plan, klockSystem, { trace: true }),
    await runPlan(plan, klockSystem),
  ];
  expect(second.trace).toEqual(first.trace);
  expect(first.trace.length).toBeGreaterThan(100);
  expect(untold.events).toBe(first.events);
});

it('a store whose decisions nobody sees is no store that breached nothing', async () => {
  const unseen: SystemFactory = (stage) => klockSystem({ ...stage, witness: () => undefined });
  await expect(runPlan(planFor(11), unseen)).rejects.toThrow('the decisions of the store are seen');
});

it('a run that fails is shortened to what it fails by', async () => {
  const mutant = mutants.find(({ name }) => name.startsWith('no quarantine')) as Mutant;
  await withMutant(mutant, async () => {
    const { failed } = await simulate({ system: klockSystem, from: 1, seeds: mutant.budget });
    if (failed?.finding === undefined) throw new Error('the mutant was not found');
    const shorter = await shrink(failed.plan, failed.finding, klockSystem);
    expect(shorter.tasks.length).toBeLessThan(10);
    const kinds = shorter.faults.map(({ what }: Fault) => what);
    expect(kinds).toContain('kill');
    expect(kinds.length).toBeLessThan(6);
    const again = await runPlan(shorter, klockSystem);
    expect(again.finding?.invariant).toBe(failed.finding.invariant);
  });
}, 60_000);

it('clocks that differ by more than the margin allows are shown to break it, and by less are not', async () => {
  const run = (drift: number, from: number) =>
    simulate({ system: klockSystem, from, seeds: 150, drift, suspends: 0 });
  expect((await run(0.2, 1)).failed?.finding?.invariant).toMatch(/^I(1|9|10)$/);
  expect((await run(0.03, 1)).failed?.finding).toBeUndefined();
}, 120_000);

it('[I7] [I12] callers that take two trees in whatever order wait crosswise, and each wait ends by its own bound', async () => {
  const crosswise = (plan: Plan): Plan => ({
    ...plan,
    tasks: plan.tasks.map((task) => ({ ...task, also: [task.key[0] === 't1' ? 't2' : 't1', 'a'] })),
  });
  const { failed } = await simulate({ system: klockSystem, from: 1, seeds: 60, adjust: crosswise });
  expect(failed?.finding).toBeUndefined();
}, 120_000);
