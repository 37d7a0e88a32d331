import { setFlagsFromString } from 'node:v8';
import { Session } from 'node:inspector/promises';
import { jest } from '@jest/globals';
import { LockUnavailableError, isLockError } from './errors.js';
import { FakeClock, settle } from './fake-clock.js';
import { createKlock, type KlockInstance } from './front-end.js';
import type { LockEvent } from './lock-events.js';
import { METRICS } from './metrics.js';
import type { InstanceOptions } from './options.js';
import { ScriptedDriver } from './scripted-driver.js';
import { noTelemetry, type SpanFacts, type Telemetry, type TelemetryLabels } from './telemetry.js';

interface Told {
  readonly name: string;
  readonly labels: TelemetryLabels;
  readonly value: number;
}

interface ToldSpan {
  readonly name: string;
  readonly labels: TelemetryLabels;
  readonly facts: SpanFacts;
  ends: { labels: TelemetryLabels; error: unknown }[];
}

/** Keeps what it is told. */
class Notebook implements Telemetry {
  readonly told: Told[] = [];
  readonly spans: ToldSpan[] = [];

  count(name: string, labels: TelemetryLabels): void {
    this.told.push({ name, labels, value: 1 });
  }

  measure(name: string, ms: number, labels: TelemetryLabels): void {
    this.told.push({ name, labels, value: ms });
  }

  shift(name: string, by: number, labels: TelemetryLabels): void {
    this.told.push({ name, labels, value: by });
  }

  span(name: string, labels: TelemetryLabels, facts: SpanFacts): ToldSpan & { end: never } {
    const span: ToldSpan = { name, labels, facts, ends: [] };
    this.spans.push(span);
    const end = (ended: TelemetryLabels, error?: unknown): void =>
      void span.ends.push({ labels: ended, error });
    return Object.assign(span, { end: end as never });
  }

  /** `outcome reason` of each count of a metric. */
  of(name: string): string[] {
    return this.told
      .filter((entry) => entry.name === name)
      .map(({ labels }) => [labels.outcome, labels.reason].filter((word) => word !== undefined).join(' '));
  }

  values(name: string): number[] {
    return this.told.filter((entry) => entry.name === name).map(({ value }) => value);
  }

  level(name: string): number {
    return this.values(name).reduce((sum, by) => sum + by, 0);
  }

  named(name: string): ToldSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}

let clock: FakeClock;
let driver: ScriptedDriver;
let klock: KlockInstance;
let book: Notebook;

function open(options: InstanceOptions = {}, own = new ScriptedDriver()): void {
  clock = new FakeClock();
  driver = own;
  book = new Notebook();
  klock = createKlock({ ttlMs: 900, telemetry: book, ...options, driver, clock });
}

beforeEach(() => open());

describe('an acquire', () => {
  it('[L-67] that is granted counts klock.acquire once, with its outcome, and its duration from call to answer', async () => {
    driver.onAcquire = async (request) => {
      await clock.advance(40);
      return driver.grant(request);
    };
    await klock.acquire('k');
    expect(book.of('lock.acquire')).toEqual(['granted']);
    expect(book.values('lock.acquire.duration')).toEqual([40]);
    expect(book.of('lock.acquire.duration')).toEqual(['granted']);
  });

  it('[L-68] of an occupied key counts busy, with the code only where the caller is thrown one', async () => {
    driver.onAcquire = () => ({ granted: false });
    await klock.tryAcquire('k');
    await klock.acquire('k', { waitMs: 0 }).catch(() => undefined);
    expect(book.of('lock.acquire')).toEqual(['busy', 'busy LOCK_TIMEOUT']);
    expect(book.of('lock.acquire.duration')).toEqual(['busy', 'busy']);
  });

  it('[L-68] that fails counts failed with the code of its error, which is no message, and its duration too', async () => {
    driver.onAcquire = () => {
      throw new LockUnavailableError('lock-1:8080 went away');
    };
    await klock.acquire('k').catch(() => undefined);
    driver.onAcquire = () => Promise.reject(new Error('what is this'));
    await klock.acquire('k').catch(() => undefined);
    expect(book.of('lock.acquire')).toEqual(['failed LOCK_UNAVAILABLE', 'failed UNKNOWN']);
    expect(book.values('lock.acquire.duration')).toHaveLength(2);
  });

  it('given up by its caller counts aborted, not failed', async () => {
    await klock.acquire('k', { signal: AbortSignal.abort() }).catch(() => undefined);
    expect(book.of('lock.acquire')).toEqual(['aborted LOCK_ABORTED']);
  });

  it('[L-55] that is granted while the instance closes counts once, as failed', async () => {
    let answer: (() => void) | undefined;
    driver.onAcquire = (request) => new Promise((resolve) => (answer = () => resolve(driver.grant(request))));
    const asked = klock.acquire('k').catch((error: unknown) => error);
    await settle();
    const closing = klock.close({ graceMs: 1 });
    await settle();
    answer?.();
    expect(isLockError(await asked, 'CLOSED')).toBe(true);
    await closing;
    expect(book.of('lock.acquire')).toEqual(['failed CLOSED']);
    expect(book.level('lock.held')).toBe(0);
  });

  it('that shares what its flow holds counts reentered, and one that may not counts failed', async () => {
    await klock.withLock('k', async () => {
      await klock.withLock('k', { reentry: 'count' }, () => undefined);
      await klock.acquire('k').catch(() => undefined);
    });
    expect(book.of('lock.acquire')).toEqual(['granted', 'reentered', 'failed LOCK_REENTRY']);
    expect(book.of('lock.release')).toEqual(['released']);
  });

  it('is among the waiting until it is answered, whichever way', async () => {
    let refuse: (() => void) | undefined;
    driver.onAcquire = () => new Promise((_, reject) => (refuse = () => reject(new Error('no'))));
    const asked = klock.acquire('k').catch(() => undefined);
    expect(book.level('lock.waiting')).toBe(1);
    refuse?.();
    await asked;
    expect(book.level('lock.waiting')).toBe(0);
  });
});

describe('a release', () => {
  it('[L-69] counts klock.release once, with the outcome the store gave', async () => {
    await (await klock.acquire('a')).release();
    driver.onRelease = () => 'lost';
    await (await klock.acquire('b')).release();
    expect(book.of('lock.release')).toEqual(['released', 'lost']);
    expect(book.level('lock.held')).toBe(0);
  });

  it('[L-69] that is not answered in time counts unknown, and not again when the answer comes', async () => {
    let answer: (() => void) | undefined;
    driver.onRelease = () => new Promise((resolve) => (answer = () => resolve('released')));
    const lock = await klock.acquire('k');
    const released = lock.release({ timeoutMs: 50 });
    await clock.advance(50);
    expect(await released).toBe('unknown');
    answer?.();
    await settle();
    expect(book.of('lock.release')).toEqual(['unknown']);
    expect(book.values('lock.release.duration')).toEqual([50]);
    expect(isLockError(book.named('lock.release')[0]?.ends[0]?.error, 'LOCK_UNAVAILABLE')).toBe(true);
  });

  it('[L-69] of a lock that was lost before counts lost, once however often it is repeated', async () => {
    const lock = await klock.acquire('k', { maxHoldMs: 100 });
    await clock.advance(100);
    await lock.release();
    await lock.release();
    expect(book.of('lock.release')).toEqual(['lost']);
    expect(book.level('lock.held')).toBe(0);
  });
});

describe('a renewal', () => {
  it('[L-70] counts klock.renew and its duration; a failed one counts the same with its reason, and no span', async () => {
    await klock.acquire('k');
    await clock.advance(300);
    driver.onRenew = () => ({ outcome: 'failed', cause: new LockUnavailableError('away') });
    await clock.advance(300);
    driver.onRenew = () => ({ outcome: 'gone', reason: 'session-gone', code: 'SESSION_GONE' });
    await clock.advance(100);
    expect(book.of('lock.renew')).toEqual(['renewed', 'failed LOCK_UNAVAILABLE', 'gone session-gone']);
    expect(book.of('lock.renew.duration')).toEqual(['renewed', 'failed', 'gone']);
    expect(book.of('lock.jeopardy')).toEqual(['']);
    expect(book.spans.map(({ name }) => name)).toEqual(['lock.acquire', 'lock.lost']);
  });

  it('by a driver that throws, which it must not, counts failed for each lease and is tried again', async () => {
    await klock.acquire('k');
    jest.spyOn(driver, 'renew').mockRejectedValueOnce(new Error('broken'));
    await clock.advance(300);
    expect(book.of('lock.renew')).toEqual(['failed UNKNOWN']);
    await clock.advance(100);
    expect(book.of('lock.renew')).toEqual(['failed UNKNOWN', 'renewed']);
  });

  it('asked for by extend counts as one', async () => {
    const lock = await klock.acquire('k');
    await lock.extend();
    expect(book.of('lock.renew')).toEqual(['renewed']);
  });
});

describe('a loss', () => {
  it('[L-71] counts klock.lost exactly once for each lock, with its reason', async () => {
    const locks = [await klock.acquire('a'), await klock.acquire('b')];
    driver.host.endLease(driver.lease!, 'session-gone', 'SESSION_GONE');
    await clock.advance(2_000);
    expect(locks.map(({ held }) => held)).toEqual([false, false]);
    expect(book.of('lock.lost')).toEqual(['session-gone', 'session-gone']);
    expect(book.of('lock.hold.duration')).toEqual(['lost', 'lost']);
    expect(book.level('lock.held')).toBe(0);
  });

  it('of a lock that was born past its deadline leaves nothing held', async () => {
    driver.onAcquire = (request) => {
      driver.sentAt = clock.now();
      clock.block(850);
      return driver.grant(request);
    };
    await klock.acquire('k').catch(() => undefined);
    expect(book.of('lock.acquire')).toEqual(['failed LOCK_LOST']);
    expect(book.level('lock.held')).toBe(0);
  });
});

describe('spans', () => {
  it('[L-72] acquire, tryAcquire and release begin and end one each, with driver, operation and outcome, the key apart', async () => {
    await (await klock.acquire(['a', 'b'])).release();
    await (await klock.tryAcquire('c'))?.release();
    await klock.withLock('d', () => undefined);
    expect(book.spans.map(({ name, labels }) => [name, labels.operation, labels.driver])).toEqual([
      ['lock.acquire', 'acquire', 'scripted'],
      ['lock.release', undefined, 'scripted'],
      ['lock.acquire', 'tryAcquire', 'scripted'],
      ['lock.release', undefined, 'scripted'],
      ['lock.acquire', 'withLock', 'scripted'],
      ['lock.release', undefined, 'scripted'],
    ]);
    expect(book.spans.map(({ ends }) => ends.map(({ labels }) => labels.outcome))).toEqual(
      ['granted', 'released', 'granted', 'released', 'granted', 'released'].map((outcome) => [outcome]),
    );
    expect(book.spans[0]?.facts.key).toEqual(['a', 'b']);
    expect(JSON.stringify(book.told)).not.toContain('"a"');
  });

  it('[L-73] [L-74] a loss is one lock.lost span of its own with the loss as its error, told of its acquire, not below it', async () => {
    const lock = await klock.acquire('k');
    driver.host.endLease(driver.lease!, 'session-gone', 'SESSION_GONE');
    const [lost, ...more] = book.named('lock.lost');
    expect(more).toEqual([]);
    expect(lost?.facts).toMatchObject({ key: ['k'], background: true, acquire: book.spans[0] });
    expect(lost?.ends).toEqual([{ labels: {}, error: lock.signal.reason as unknown }]);
  });

  it('[L-75] carry the error their operation ended in', async () => {
    driver.onAcquire = () => ({ granted: false });
    const thrown = await klock.acquire('k', { waitMs: 0 }).catch((error: unknown) => error);
    const [acquire] = book.named('lock.acquire');
    expect(isLockError(acquire?.ends[0]?.error, 'LOCK_TIMEOUT')).toBe(true);
    expect((acquire?.ends[0]?.error as Error).message).toBe((thrown as Error).message);
  });
});

describe('the catalogue', () => {
  it('[WL-14] holds every figure that is reported, and names the labels each carries: none grows with keys', async () => {
    await klock.withLock('k', () => clock.advance(20_000));
    driver.onRenew = () => ({ outcome: 'failed', cause: new Error('k') });
    const lock = await klock.acquire('k');
    driver.host.handedOver(['k']);
    await clock.advance(2_000);
    await lock.release();
    klock.on('lock.lost', () => {
      throw new Error('no');
    });
    driver.host.warn('SOMETHING', 'with the key k in it');
    expect([...new Set(book.told.map(({ name }) => name))].sort()).toEqual(Object.keys(METRICS).sort());
    for (const { name, labels } of book.told) {
      const { labels: allowed } = METRICS[name as keyof typeof METRICS];
      expect(['driver', ...allowed]).toEqual(expect.arrayContaining(Object.keys(labels)));
    }
    expect(book.of('lock.warning')).toEqual(['SOMETHING']);
  });
});

describe('telemetry that throws', () => {
  it('disturbs no lock and is told once', async () => {
    const broken = (): never => {
      throw new Error('exporter full');
    };
    open({ telemetry: { count: broken, measure: broken, shift: broken, span: broken } });
    const warnings: Extract<LockEvent, { type: 'warning' }>[] = [];
    klock.on('warning', (event) => warnings.push(event));
    expect(await klock.withLock('k', () => 'done')).toBe('done');
    await klock.acquire('k');
    driver.host.endLease(driver.lease!, 'session-gone', 'SESSION_GONE');
    expect(warnings.map(({ code }) => code)).toEqual(['TELEMETRY_FAILED']);
  });

  it.each([[null], [{}], [{ count: () => undefined }], ['otel']])(
    'is refused at configuration where it is none: %j',
    (telemetry) => {
      expect(() => open({ telemetry: telemetry as never })).toThrow(/telemetry must be a telemetry/);
    },
  );
});

describe('without telemetry', () => {
  const given: [string, InstanceOptions][] = [
    ['left out', { telemetry: undefined }],
    ['noTelemetry', { telemetry: noTelemetry }],
  ];

  it.each(given)('[L-80] nothing of it is called: %s', async (_, options) => {
    const spies = (['count', 'measure', 'shift', 'span'] as const).map((name) =>
      jest.spyOn(noTelemetry, name),
    );
    open(options);
    await useLocks(50);
    await klock.acquire('k');
    await clock.advance(300);
    driver.host.endLease(driver.lease!, 'session-gone', 'SESSION_GONE');
    expect(driver.renewals).toBe(1);
    expect(spies.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0, 0]);
    for (const spy of spies) spy.mockRestore();
  });

  it.each(given)('[L-80] nothing is allocated for it: %s', async (_, options) => {
    open(options);
    expect(await allocatingFiles(() => useLocks(2_000))).not.toContain('figures.ts');
  });

  it('[L-80] the measurement above sees it where there is one', async () => {
    expect(await allocatingFiles(() => useLocks(2_000))).toContain('figures.ts');
  });
});

async function useLocks(times: number): Promise<void> {
  for (let i = 0; i < times; i++) await klock.withLock(`k${i % 7}`, () => undefined);
}

interface AllocationNode {
  readonly callFrame: { readonly url: string };
  readonly selfSize: number;
  readonly children: AllocationNode[];
}

/** Names of the files whose functions allocated, by V8's sampling of every few hundred bytes, garbage included. */
async function allocatingFiles(work: () => Promise<void>): Promise<string[]> {
  setFlagsFromString('--sampling-heap-profiler-suppress-randomness');
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 128,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  } as never);
  await work();
  const { profile } = (await session.post('HeapProfiler.stopSampling')) as unknown as {
    profile: { head: AllocationNode };
  };
  session.disconnect();
  const files = new Set<string>();
  const visit = (node: AllocationNode): void => {
    if (node.selfSize > 0) files.add(node.callFrame.url.replace(/.*\//, ''));
    node.children.forEach(visit);
  };
  visit(profile.head);
  return [...files];
}
