import type { Child } from '../support/child.js';
import { startCompiled } from '../support/compiled-child.js';
import { LockServerProcess } from '../support/lock-server.js';
import { scaleNote, scaled } from '../support/scale.js';
import { rejection, sleep, until } from './nest-support.js';

interface Run {
  readonly job: string;
  readonly replica: string;
  readonly began: number;
  readonly ended: number;
}

const SECONDS = scaled(60, 12);
const NOTE = scaleNote(12);

describe('jobs of three replicas in processes of their own, over one lock server', () => {
  let server: LockServerProcess;
  let replicas: Child[];

  beforeAll(async () => {
    server = await LockServerProcess.start();
    const start = (name: string): Promise<Child> =>
      startCompiled('test/e2e/nest-jobs.child.ts', { args: [name, `klock://${server.address}`] });
    replicas = await Promise.all(['a', 'b', 'c'].map(start));
  }, 60_000);
  afterAll(async () => {
    await Promise.all([...replicas.map((replica) => replica.kill()), server.kill()]);
  });

  const eventsOf = (name: string): unknown[] =>
    replicas.flatMap(({ events }) => events.filter(({ event }) => event === name).map(({ data }) => data));
  const runsOf = (job: string): Run[] =>
    (eventsOf('ran') as Run[]).filter((run) => run.job === job).sort((x, y) => x.began - y.began);

  it(
    `[B-057] [B-068] run one at a time for ${SECONDS} s, about once a second in all, decorators in either order${NOTE}`,
    async () => {
      await sleep(SECONDS * 1_000);
      for (const job of ['cronAbove', 'cronBelow', 'dynamic']) {
        const runs = runsOf(job);
        expect([job, runs.length]).toEqual([job, expect.any(Number)]);
        expect(runs.length).toBeGreaterThanOrEqual(SECONDS - 2);
        const overlaps = runs.filter((run, i) => i > 0 && run.began < runs[i - 1]!.ended);
        expect([job, overlaps]).toEqual([job, []]);
      }
      expect(eventsOf('unhandled')).toEqual([]);
    },
    SECONDS * 1_000 + 20_000,
  );

  it(`[B-057] run once for each firing where the key names the firing and atLeastMs outlasts the difference of clocks${NOTE}`, () => {
    const seconds = runsOf('oncePerFiring').map(({ began }) => Math.round(began / 1_000));
    expect(seconds.length).toBeGreaterThanOrEqual(SECONDS - 2);
    expect(seconds).toEqual([...new Set(seconds)]);
  });

  it('[B-059] that are long keep others out to their end, since they are renewed', async () => {
    const [a, b] = replicas as [Child, Child];
    const running = a.call('long', 3_000);
    await a.event('began', (data) => (data as Run).job === 'long');
    const skipped: unknown[] = [];
    for (let turn = 0; turn < 5; turn++) {
      skipped.push(await b.call('long', 0));
      await sleep(500);
    }
    expect(skipped).toEqual([undefined, undefined, undefined, undefined, undefined]);
    expect(await running).toBe('a');
    expect(await b.call('long', 0)).toBe('b');
  }, 20_000);

  it('[B-059] that ask for no renewal are told at the end of their lease', async () => {
    const { code } = await rejection(replicas[1]!.call('withoutRenewal', 1_500));
    expect(code).toBe('LOCK_LOST');
    const { data } = await replicas[1]!.event('aborted');
    expect(data).toBeLessThanOrEqual(1_000);
    expect(data).toBeGreaterThan(700);
  });

  it('[B-059] whose process is killed are taken up by another replica within ttl + 1 s', async () => {
    const [a, b] = replicas as [Child, Child];
    void a.call('long', 30_000).catch(() => undefined);
    await until(
      'running',
      () =>
        (eventsOf('began') as Run[]).filter(({ job, replica }) => job === 'long' && replica === 'a')
          .length === 2,
    );
    await a.kill('SIGKILL');
    const killed = performance.now();
    let taken: unknown;
    while (taken === undefined && performance.now() - killed < 5_000) taken = await b.call('long', 0);
    expect(taken).toBe('b');
    expect(performance.now() - killed).toBeLessThan(1_000 + 1_000);
  }, 20_000);

  it('[B-060] do not run while the lock server is down, unless that was asked for by name, and then they can see it', async () => {
    const alive = replicas.slice(1);
    await server.kill('SIGKILL');
    const started = performance.now();
    const refusals = await Promise.all(alive.map((replica) => rejection(replica.call('byDefault'))));
    expect(refusals.map(({ code }) => code)).toEqual(['LOCK_UNAVAILABLE', 'LOCK_UNAVAILABLE']);
    expect(performance.now() - started).toBeLessThan(300 + 2_000);
    const calls = (name: string): Promise<unknown[]> =>
      Promise.all(alive.map((replica) => replica.call(name)));
    expect(await calls('skip')).toEqual(['skipped', 'skipped']);
    expect(await calls('runUnlocked')).toEqual(['ran unlocked', 'ran unlocked']);
    for (const replica of alive) {
      await replica.event('warned', (line) => String(line).includes('Jobs.runUnlocked runs UNLOCKED'));
    }
    expect(eventsOf('unhandled')).toEqual([]);
  }, 20_000);
});
