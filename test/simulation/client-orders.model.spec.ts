import fc from 'fast-check';
import {
  createKlock,
  isLockError,
  type DriverAcquire,
  type DriverGrant,
  type LockHandle,
} from '../../lib/core/index.js';
import { FakeClock } from '../../lib/core/fake-clock.js';
import { ScriptedDriver } from '../../lib/core/scripted-driver.js';
import { HandoverDriver } from '../../lib/drivers/kit/index.js';
import { scaled, scaleNote } from '../support/scale.js';
import { chosenSeed } from '../support/seed.js';

/** KLOCK_SEED repeats a run. */
const seed = chosenSeed();
const runs = scaled(2_000, 10);

interface Acquiring {
  readonly what: 'acquire';
  /** Its signal aborts at some time. */
  readonly abort: boolean;
  /** Its handle is not given back. */
  readonly keep: boolean;
}
type Doing = Acquiring | { readonly what: 'renewal fails' | 'the lease is gone' | 'time passes' };

const doing: fc.Arbitrary<Doing> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ what: fc.constant('acquire' as const), abort: fc.boolean(), keep: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom('renewal fails' as const, 'the lease is gone' as const, 'time passes' as const),
    }),
  },
);

/** A store whose every answer arrives when the schedule says so, in any order. */
class ScheduledStore {
  readonly driver = new ScriptedDriver();
  readonly granted: DriverGrant[] = [];
  failing = false;
  gone = false;

  constructor(private readonly scheduler: fc.Scheduler) {
    const { driver } = this;
    driver.onAcquire = (request: DriverAcquire) => this.later('acquire', () => this.grant(request));
    driver.onRelease = () => this.later('release', () => 'released' as const);
    driver.onRenew = (lease) =>
      this.later('renewal', () => {
        if (this.gone) return { outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' } as const;
        if (this.failing) return { outcome: 'failed', cause: new Error('not now') } as const;
        return { outcome: 'renewed', grantedMs: lease.ms } as const;
      });
  }

  private grant(request: DriverAcquire): DriverGrant {
    const grant = this.driver.grant(request);
    this.granted.push(grant);
    return grant;
  }

  private later<T>(label: string, answer: () => T): Promise<T> {
    return this.scheduler.schedule(Promise.resolve(), label).then(answer);
  }
}

interface Outcome {
  readonly handles: LockHandle[];
  readonly errors: unknown[];
}

/** One program against the store, its answers in the order of the schedule. */
async function play(scheduler: fc.Scheduler, steps: readonly Doing[], handover: boolean): Promise<void> {
  const clock = new FakeClock();
  const store = new ScheduledStore(scheduler);
  const driver = handover ? new HandoverDriver(store.driver) : store.driver;
  const klock = createKlock({ ttlMs: 900, driver, clock });
  const seen: Outcome = { handles: [], errors: [] };
  const running: Promise<void>[] = [];
  for (const [at, step] of steps.entries()) {
    scheduler.schedule(Promise.resolve(), `step ${at}`).then(
      () => void running.push(perform(step)),
      () => undefined,
    );
  }
  async function perform(step: Doing): Promise<void> {
    if (step.what === 'acquire') await acquire(step);
    else if (step.what === 'time passes') clock.block(200);
    else if (step.what === 'renewal fails') store.failing = !store.failing;
    else store.gone = true;
  }
  async function acquire({ abort, keep }: Acquiring): Promise<void> {
    const controller = new AbortController();
    if (abort) void scheduler.schedule(Promise.resolve(), 'abort').then(() => controller.abort());
    try {
      const lock = await klock.acquire('k', { signal: controller.signal });
      seen.handles.push(lock);
      if (!keep) await lock.release();
    } catch (error) {
      seen.errors.push(error);
    }
  }
  await scheduler.waitAll();
  const closed = klock.close({ graceMs: 1 });
  for (let turn = 0; turn < 20; turn++) {
    await clock.advance(500);
    await scheduler.waitAll();
  }
  await closed;
  await Promise.all(running);
  check(store, seen);
}

function check({ driver, granted }: ScheduledStore, { handles, errors }: Outcome): void {
  // Nothing is held by anybody in the end, and every end was told once.
  for (const handle of handles) expect(handle.held).toBe(false);
  for (const error of errors) expect(isLockError(error)).toBe(true);
  // Whatever the store granted was given back once, or went with its lease.
  for (const { token, lease } of granted) {
    const returns = driver.released.filter((released) => released === token).length;
    expect(returns).toBeLessThanOrEqual(1);
    if (returns === 0) expect(lease.alive).toBe(false);
  }
  // Nobody was handed the same fence as anybody else.
  const fences = handles.map(({ fence }) => fence);
  expect(new Set(fences).size).toBe(fences.length);
}

it.each([
  ['straight to the store', false],
  ['with hand-over in the process', true],
])(
  `[I7] [I9] acquire, abort, close and renewal answered in any order leave nothing held, %s (seed ${seed})${scaleNote(10)}`,
  async (_, handover) => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      fc.array(doing, { minLength: 1, maxLength: 8 }),
      (scheduler, steps) => play(scheduler, steps, handover),
    );
    await fc.assert(property, { numRuns: runs, seed });
  },
  120_000,
);
