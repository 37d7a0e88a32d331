import { BEGUN_PER_TURN, TurnGate } from './turn-gate.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('few begin at once; the others in the turns after, so many in each, in the order they came', async () => {
  const gate = new TurnGate();
  const begun: number[] = [];
  const enter = async (index: number): Promise<void> => {
    const inTurn = gate.enter();
    if (inTurn !== undefined) await inTurn;
    begun.push(index);
  };
  const all = Array.from({ length: BEGUN_PER_TURN * 3 + 1 }, (_, index) => enter(index));
  const counts = [begun.length];
  for (let turns = 0; turns < 4; turns++) {
    await turn();
    counts.push(begun.length);
  }
  await Promise.all(all);
  expect(counts).toEqual([1, 2, 3, 3, 3].map((times, at) => times * BEGUN_PER_TURN + (at > 2 ? 1 : 0)));
  expect(begun).toEqual(begun.map((_, index) => index));
});

it('who comes while others wait does not pass them, and once all have begun nobody waits', async () => {
  const gate = new TurnGate();
  for (let index = 0; index < BEGUN_PER_TURN; index++) expect(gate.enter()).toBeUndefined();
  const order: string[] = [];
  const first = gate.enter()?.then(() => order.push('first'));
  const second = gate.enter()?.then(() => order.push('second'));
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
  await turn();
  await turn();
  expect(gate.enter()).toBeUndefined();
});
