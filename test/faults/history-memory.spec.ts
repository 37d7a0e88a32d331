import { createKlock, systemClock, type Clock, type LockKey } from '../../lib/core/index.js';
import { memoryDriver, MemoryStore } from '../../lib/drivers/memory/index.js';
import { checkHistory, HistoryRecorder, recordLocks, SeededRandom } from '../../lib/testing/index.js';
import { scaled, scaleNote } from '../support/scale.js';
import { chosenSeed } from '../support/seed.js';

const TTL_MS = 300;
const WANTED = scaled(20_000, 10);
const KEYS: readonly [LockKey, ...LockKey[]] = [['t'], ['t', 'a'], ['t', 'b'], ['u'], ['u', 'a']];
const seed = chosenSeed(1_000_000);

const real = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The machine's clocks, the wall clock of which somebody sets. */
function movedClock(offset: { ms: number }): Clock {
  return {
    monoMs: () => systemClock.monoMs(),
    wallMs: () => systemClock.wallMs() + offset.ms,
    now: () => ({ monoMs: systemClock.monoMs(), wallMs: systemClock.wallMs() + offset.ms }),
    after: (delayMs, run, options) => systemClock.after(delayMs, run, options),
  };
}

/** True time, for the history. */
const mono: Clock = { ...movedClock({ ms: 0 }), wallMs: () => systemClock.monoMs() };

it(
  `[I1] [I3] [I5] memory: ${WANTED} grants of one store in process, its event loop blocked and its clients' wall clocks moved, breach nothing (seed ${seed})${scaleNote(10)}`,
  async () => {
    const random = new SeededRandom(seed);
    const history = new HistoryRecorder();
    const store = new MemoryStore();
    const offsets = Array.from({ length: 4 }, () => ({ ms: 0 }));
    const klocks = offsets.map((offset) =>
      createKlock({ ttlMs: TTL_MS, driver: memoryDriver({ store }), clock: movedClock(offset) }),
    );
    const work = async (at: number): Promise<void> => {
      while (history.grants.length < WANTED) {
        const holdMs = random.chance(0.005) ? random.between(0, 1.5 * TTL_MS) : random.between(0, 3);
        const klock = klocks[at] as (typeof klocks)[number];
        await recordLocks(
          history,
          klock,
          `c${at}`,
          random.pick(KEYS),
          { waitMs: 2 * TTL_MS },
          () => real(holdMs),
          mono,
        );
      }
    };
    let blocked = 0;
    let set = 0;
    const startedMs = performance.now();
    const trouble = async (): Promise<void> => {
      while (history.grants.length < WANTED) {
        await real(random.between(50, 200));
        const offset = random.pick(offsets as [{ ms: number }, ...{ ms: number }[]]);
        if (random.chance(0.5)) {
          offset.ms += random.between(-2, 2) * TTL_MS;
          set++;
        }
        if (!random.chance(0.15)) continue;
        const blockedUntil = performance.now() + random.between(0.5, 2) * TTL_MS;
        while (performance.now() < blockedUntil);
        blocked++;
      }
    };
    await Promise.all([...klocks.keys(), ...klocks.keys()].map(work).concat(trouble()));
    for (const klock of klocks) await klock.close({ graceMs: 1 });
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    console.log(
      `memory: ${history.grants.length} grants in ${seconds} s; faults: event loop blocked ${blocked}, wall clock set ${set}`,
    );
    expect(checkHistory(history, { toleranceMs: 1 })).toEqual([]);
  },
  scaled(1_200_000, 10),
);
