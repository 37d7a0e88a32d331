import { AlarmQueue } from './alarm-queue.js';
import type { Clock } from './clock.js';
import { FakeClock } from './fake-clock.js';

function queue(): {
  clock: FakeClock;
  alarms: AlarmQueue;
  rung: number[];
  at: (ms: number) => ReturnType<AlarmQueue['at']>;
} {
  const clock = new FakeClock({ monoMs: 0, wallMs: 0 });
  const alarms = new AlarmQueue(clock);
  const rung: number[] = [];
  return { clock, alarms, rung, at: (ms) => alarms.at(ms, () => rung.push(ms)) };
}

it('rings alarms in order of time, whatever the order they were set in, behind one timer', async () => {
  const { clock, rung, at } = queue();
  for (const ms of [50, 10, 40, 20, 30, 10]) at(ms);
  expect(clock.timers).toBe(1);
  await clock.advance(35);
  expect(rung).toEqual([10, 10, 20, 30]);
  await clock.advance(100);
  expect(rung).toEqual([10, 10, 20, 30, 40, 50]);
  expect(clock.timers).toBe(0);
});

it('a cancelled alarm never rings, and cancelling twice or after ringing changes nothing', async () => {
  const { clock, alarms, rung, at } = queue();
  const [first, second] = [at(10), at(20)];
  first.cancel();
  first.cancel();
  await clock.advance(20);
  second.cancel();
  expect(rung).toEqual([20]);
  expect(alarms.size).toBe(0);
});

it('an alarm set while another rings is not lost', async () => {
  const { clock, alarms, rung, at } = queue();
  alarms.at(10, () => at(15));
  at(30);
  await clock.advance(40);
  expect(rung).toEqual([15, 30]);
});

it('[I12] a million cancelled alarms leave a queue no larger than its live ones', () => {
  const { alarms } = queue();
  const live = alarms.at(5, () => undefined);
  for (let turn = 0; turn < 1_000_000; turn++) alarms.at(60_000 + turn, () => undefined).cancel();
  expect(alarms.size).toBe(1);
  expect((alarms as unknown as { heap: unknown[] }).heap.length).toBeLessThan(200);
  live.cancel();
});

it('keeps the process alive while an alarm is set, and no longer, behind the same timer', async () => {
  const clock = new FakeClock({ monoMs: 0, wallMs: 0 });
  const kept: boolean[] = [];
  const watched: Clock = {
    monoMs: () => clock.monoMs(),
    wallMs: () => clock.wallMs(),
    now: () => clock.now(),
    after: (delayMs, run, options) => {
      kept.push(options?.keepAlive === true);
      const timer = clock.after(delayMs, run);
      return { cancel: () => timer.cancel(), keepAlive: (on) => void kept.push(on) };
    },
  };
  const alarms = new AlarmQueue(watched, true);
  const rung: string[] = [];
  const first = alarms.at(10, () => rung.push('first'));
  const second = alarms.at(20, () => rung.push('second'));
  expect(kept).toEqual([true]);
  first.cancel();
  expect(kept).toEqual([true]);
  second.cancel();
  expect(kept).toEqual([true, false]);
  alarms.at(30, () => rung.push('third'));
  expect(kept).toEqual([true, false, true]);
  await clock.advance(30);
  expect(rung).toEqual(['third']);
  expect(clock.timers).toBe(0);
});
