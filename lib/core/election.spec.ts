import { MemoryStore, memoryDriver } from '../drivers/memory/index.js';
import { isLockError, type LockLostError } from './errors.js';
import { FakeClock, settle } from './fake-clock.js';
import { createKlock, type KlockInstance } from './front-end.js';
import type { ElectionOptions, Leadership } from './election.js';
import type { LockDriver } from './lock-driver.js';
import type { LockEvent } from './lock-events.js';
import { ScriptedDriver } from './scripted-driver.js';

let clock: FakeClock;
let store: MemoryStore;
let opened: KlockInstance[];

beforeEach(() => {
  clock = new FakeClock();
  store = new MemoryStore(clock);
  opened = [];
});

afterEach(async () => {
  await Promise.all(opened.map((klock) => closed(klock)));
});

function open(driver: LockDriver = memoryDriver({ store })): KlockInstance {
  const klock = createKlock({ ttlMs: 900, driver, clock });
  opened.push(klock);
  return klock;
}

async function closed(klock: KlockInstance): Promise<void> {
  const closing = klock.close({ graceMs: 1 });
  await clock.advance(2_000);
  await closing;
}

/** A candidate that remembers its terms and losses. */
function candidate(): ElectionOptions & { terms: Leadership[]; losses: LockLostError[] } {
  const terms: Leadership[] = [];
  const losses: LockLostError[] = [];
  return {
    terms,
    losses,
    onElected: (term) => void terms.push(term),
    onLost: (loss) => void losses.push(loss),
  };
}

/** The options alone: `elect` refuses what it does not know. */
const listeners = ({ onElected, onLost }: ElectionOptions): ElectionOptions => ({
  onElected,
  ...(onLost && { onLost }),
});

const nothing = (): void => undefined;

describe('klock.elect', () => {
  it('[I2] elects one of two candidates, and the other once the first has resigned, with a larger fence', async () => {
    const [first, second] = [candidate(), candidate()];
    const a = open().elect('leader', listeners(first));
    await settle();
    const b = open().elect('leader', listeners(second));
    await settle();
    expect([a.isLeader, b.isLeader]).toEqual([true, false]);
    await a.resign();
    await settle();
    expect([a.isLeader, b.isLeader]).toEqual([false, true]);
    expect(second.terms[0]!.fence).toBeGreaterThan(first.terms[0]!.fence);
    expect(first.terms[0]!.signal.aborted).toBe(true);
    expect(first.losses).toEqual([]);
  });

  it('tells a loss once, by signal and onLost with isLeader false already, and stands again after a pause', async () => {
    const driver = new ScriptedDriver();
    const klock = open(driver);
    const told = candidate();
    const seen: boolean[] = [];
    const election = klock.elect('leader', {
      onElected: told.onElected,
      onLost: (loss) => {
        seen.push(election.isLeader, told.terms[0]!.signal.aborted);
        told.losses.push(loss);
      },
    });
    await settle();
    driver.host.endLease(driver.lease!, 'session-gone', 'SESSION_GONE');
    await settle();
    expect(seen).toEqual([false, true]);
    expect(told.losses.map((loss) => loss.reason)).toEqual(['session-gone']);
    expect(told.terms[0]!.signal.reason).toBe(told.losses[0]);
    expect(told.terms).toHaveLength(1);
    await clock.advance(200);
    expect(told.terms).toHaveLength(2);
  });

  it('stands again, later and later up to 5 s, while the store is away, and tells once', async () => {
    const driver = new ScriptedDriver();
    const klock = open(driver);
    let asked = 0;
    driver.onAcquire = () => {
      asked++;
      return Promise.reject(new Error('away'));
    };
    const warnings: string[] = [];
    klock.on('warning', (event: Extract<LockEvent, { type: 'warning' }>) => warnings.push(event.code));
    const election = klock.elect('leader', listeners(candidate()));
    await clock.advance(60_000);
    expect(asked).toBeGreaterThan(12);
    expect(asked).toBeLessThan(35);
    expect(warnings).toEqual(['ELECTION_FAILED']);
    await election.resign();
  });

  it('gives the office back when onElected fails, tells it as a warning, and stands again', async () => {
    const klock = open();
    const warnings: unknown[] = [];
    klock.on('warning', (event) => warnings.push(event.cause));
    const mine = new Error('mine');
    let terms = 0;
    const election = klock.elect('leader', {
      onElected: () => {
        if (++terms === 1) throw mine;
      },
    });
    await settle();
    expect(election.isLeader).toBe(false);
    expect(await klock.isLocked('leader')).toBe(false);
    expect(warnings).toEqual([mine]);
    await clock.advance(400);
    expect(election.isLeader).toBe(true);
  });

  it('a listener that throws in onLost disturbs nothing', async () => {
    const driver = new ScriptedDriver();
    const klock = open(driver);
    const told = candidate();
    klock.elect('leader', {
      onElected: told.onElected,
      onLost: () => {
        throw new Error('mine');
      },
    });
    await settle();
    driver.host.endLease(driver.lease!, 'session-gone', 'SESSION_GONE');
    await clock.advance(400);
    expect(told.terms).toHaveLength(2);
  });

  it('resigning while waiting leaves the queue; resigning twice, and after the end, resolves', async () => {
    const [a, b] = [open(), open()];
    await a.acquire('leader');
    const election = b.elect('leader', listeners(candidate()));
    await settle();
    expect((await a.inspect('leader')).waiterCount).toBe(1);
    await Promise.all([election.resign(), election.resign()]);
    expect((await a.inspect('leader')).waiterCount).toBe(0);
    await election.resign();
    await election.ended;
  });

  it('resigns by signal and by disposal', async () => {
    const klock = open();
    const gone = new AbortController();
    const election = klock.elect('leader', { ...listeners(candidate()), signal: gone.signal });
    await settle();
    expect(election.isLeader).toBe(true);
    gone.abort();
    await election.ended;
    expect(await klock.isLocked('leader')).toBe(false);
    {
      await using other = klock.elect('leader', listeners(candidate()));
      await settle();
      expect(other.isLeader).toBe(true);
    }
    expect(await klock.isLocked('leader')).toBe(false);
  });

  it('ends with its instance: a leader loses its office with reason closed, a waiting candidate just ends', async () => {
    const [leading, waiting] = [candidate(), candidate()];
    const [a, b] = [open(), open()];
    const first = a.elect('leader', listeners(leading));
    await settle();
    const second = b.elect('leader', listeners(waiting));
    await settle();
    await closed(b);
    await second.ended;
    expect(waiting.terms).toEqual([]);
    await closed(a);
    await first.ended;
    expect(leading.losses.map((loss) => loss.reason)).toEqual(['closed']);
    expect(() => a.elect('leader', listeners(leading))).toThrow(
      expect.objectContaining({ code: 'CLOSED' }) as Error,
    );
  });

  it('begun inside a section of the same key it waits for that section instead of counting as part of it', async () => {
    const klock = open();
    const told = candidate();
    await klock.withLock('leader', async () => {
      klock.elect('leader', listeners(told));
      await settle();
      expect(told.terms).toEqual([]);
    });
    await settle();
    expect(told.terms).toHaveLength(1);
  });

  it('the office of a view is that of its prefix', async () => {
    const klock = open();
    klock.view('billing').elect('leader', listeners(candidate()));
    await settle();
    expect(await klock.isLocked('billing/leader')).toBe(true);
  });

  it.each([
    ['options', null],
    ['onElected', {}],
    ['onElected', { onElected: 7 }],
    ['onLost', { onElected: nothing, onLost: 7 }],
    ['ttlMs', { onElected: nothing, ttlMs: 0.5 }],
    ['signal', { onElected: nothing, signal: 7 }],
    ['onElcted', { onElected: nothing, onElcted: 7 }],
  ])('refuses %s at once, naming it: %j', (option, options) => {
    try {
      open().elect('leader', options as unknown as ElectionOptions);
      throw new Error('accepted');
    } catch (error) {
      expect(isLockError(error, 'INVALID_OPTION') && error.message).toContain(option);
    }
  });

  it('refuses a bad key at once', () => {
    expect(() => open().elect('', listeners(candidate()))).toThrow(
      expect.objectContaining({ code: 'INVALID_KEY' }) as Error,
    );
  });
});
