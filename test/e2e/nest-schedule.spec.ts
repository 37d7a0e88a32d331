import { Inject, Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry, Timeout } from '@nestjs/schedule';
import { KlockModule, Locked, getKlockToken, type Klock, type LockDriver } from 'klock';
import { sharedMemory, sleep, start, until } from './nest-support.js';

/** What all replicas of a test did, since they run in one process. */
interface Record {
  running: number;
  overlaps: number;
  ran: string[];
}
const records = new Map<string, Record>();
function record(job: string): Record {
  const known = records.get(job) ?? { running: 0, overlaps: 0, ran: [] };
  records.set(job, known);
  return known;
}

async function work(job: string, replica: string, ms: number): Promise<void> {
  const seen = record(job);
  seen.running++;
  if (seen.running > 1) seen.overlaps++;
  seen.ran.push(replica);
  await sleep(ms);
  seen.running--;
}

const SKIP = { waitMs: 0, onBusy: 'skip' } as const;

@Injectable()
class Jobs {
  static replicas = 0;
  readonly replica = `replica ${++Jobs.replicas}`;
  readonly skipped: unknown[] = [];
  constructor(@Inject(getKlockToken()) readonly klock: Klock) {}

  @Cron('* * * * * *')
  @Locked('cron:below', SKIP)
  async cronAbove(): Promise<void> {
    await work('cronAbove', this.replica, 300);
  }

  @Locked('cron:above', SKIP)
  @Cron('* * * * * *')
  async cronBelow(): Promise<void> {
    await work('cronBelow', this.replica, 300);
  }

  @Interval(50)
  @Locked('interval', SKIP)
  async interval(): Promise<void> {
    await work('interval', this.replica, 120);
  }

  @Locked('timeout', { ...SKIP, atLeastMs: 1_000 })
  @Timeout(30)
  async once(): Promise<void> {
    await work('once', this.replica, 0);
  }
}

function replica(driver: LockDriver): Promise<INestApplicationContext> {
  @Module({ imports: [ScheduleModule.forRoot(), KlockModule.forRoot({ driver })], providers: [Jobs] })
  class App {}
  return start(App);
}

describe('scheduled jobs on three replicas', () => {
  let apps: INestApplicationContext[];
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);

  beforeAll(async () => {
    process.on('unhandledRejection', note);
    const { driver } = sharedMemory();
    apps = await Promise.all([replica(driver()), replica(driver()), replica(driver())]);
    await until(
      'two seconds of jobs',
      () => record('cronAbove').ran.length >= 2 && record('cronBelow').ran.length >= 2,
    ).catch(() => undefined);
    await sleep(600);
  }, 10_000);
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()));
    process.off('unhandledRejection', note);
  });

  it.each(['cronAbove', 'cronBelow', 'interval'])(
    '[B-057] [B-068] [peers 1] never run twice at once, whichever decorator is above (%s)',
    (job) => {
      const { ran, overlaps } = record(job);
      expect(ran.length).toBeGreaterThanOrEqual(2);
      expect(overlaps).toBe(0);
      expect(unhandled).toEqual([]);
    },
  );

  it('[B-057] fire once a second in all although every replica fires', () => {
    for (const job of ['cronAbove', 'cronBelow']) expect(record(job).ran.length).toBeLessThanOrEqual(4);
  });

  it('[B-057] run a short job once in the set when atLeastMs outlasts the difference of their clocks', () => {
    expect(record('once').ran).toHaveLength(1);
  });

  it('[B-057] resolve a skipped run with undefined, and the function form does the same for jobs made at run time', async () => {
    const [first, second] = apps as [INestApplicationContext, INestApplicationContext];
    const [a, b] = [first.get(Jobs).klock, second.get(Jobs).klock];
    const held = await a.acquire('interval', { waitMs: 2_000 });
    expect(await second.get(Jobs).interval()).toBeUndefined();
    await held.release();

    const registry = first.get(SchedulerRegistry);
    const dynamic = (klock: Klock, name: string): Promise<void> =>
      klock.withLock('x', { waitMs: 0 }, () => work('x', name, 30));
    const ends: Promise<unknown>[] = [];
    const both = (): void =>
      void ends.push(
        ...[dynamic(a, 'a'), dynamic(b, 'b')].map((call) => call.catch((e: { code: string }) => e.code)),
      );
    registry.addTimeout('x', setTimeout(both, 5) as unknown as number);
    await until('ended', () => ends.length === 2);
    expect((await Promise.all(ends)).filter((end) => end === 'LOCK_TIMEOUT')).toHaveLength(1);
  });
});
