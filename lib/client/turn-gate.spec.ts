import { FakeClock, settle, type Timer } from '../core/index.js';
import { BEGUN_PER_TURN, TurnGate } from './turn-gate.js';

/** A clock whose event loop turns when told to. */
class TurningClock extends FakeClock {
  private readonly due: (() => void)[] = [];

  override after(_delayMs: number, run: () => void): Timer {
    this.due.push(run);
    return { cancel: () => undefined };
  }

  async turn(): Promise<void> {
    for (const run of this.due.splice(0)) run();
    await settle();
  }
}

it('few begin at once; the others in the turns after, so many in each, in the order they came', async () => {
  const clock = new TurningClock();
  const gate = new TurnGate(clock);
  const begun: number[] = [];
  const enter = async (index: number): Promise<void> => {
    const inTurn = gate.enter();
    if (inTurn !== undefined) await inTurn;
    begun.push(index);
  };
  const all = Array.from({ length: BEGUN_PER_TURN * 3 + 1 }, (_, index) => enter(index));
  const counts = [begun.length];
  for (let turns = 0; turns < 4; turns++) {
    await clock.turn();
    counts.push(begun.length);
  }
  await Promise.all(all);
  expect(counts).toEqual([1, 2, 3, 3, 3].map((times, at) => times * BEGUN_PER_TURN + (at > 2 ? 1 : 0)));
  expect(begun).toEqual(begun.map((_, index) => index));
});

it('who comes while others wait does not pass them, and once all have begun nobody waits', async () => {
  const clock = new TurningClock();
  const gate = new TurnGate(clock);
  for (let index = 0; index < BEGUN_PER_TURN; index++) expect(gate.enter()).toBeUndefined();
  const order: string[] = [];
  void gate.enter()?.then(() => order.push('first'));
  void gate.enter()?.then(() => order.push('second'));
  await clock.turn();
  expect(order).toEqual(['first', 'second']);
  await clock.turn();
  expect(gate.enter()).toBeUndefined();
});
