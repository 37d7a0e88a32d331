import { inspect } from 'node:util';
import { ConsoleLogger, type Logger, type LoggerService } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  createKlock,
  isLockError,
  type DriverHost,
  type KlockInstance,
  type LockDriver,
} from '../core/index.js';
import { memoryDriver } from '../drivers/memory/index.js';
import { logEvents } from './event-log.js';
import { KlockModule, getKlockToken, type KlockModuleOptions } from './index.js';

interface Line {
  readonly level: string;
  readonly record: Record<string, unknown>;
}

let lines: Line[];
let klock: KlockInstance;
let host: DriverHost;

/** A logger that keeps what it is given. */
function keeping(): LoggerService {
  const keep = (level: string) => (record: unknown) =>
    void lines.push({ level, record: { ...(record as Record<string, unknown>) } });
  return { log: keep('log'), warn: keep('warn'), error: keep('error') };
}

/** A memory driver whose host the test can speak for. */
function tapped(): LockDriver {
  const driver = memoryDriver();
  const attach = driver.attach.bind(driver);
  return Object.assign(driver, {
    attach: (attached: DriverHost) => {
      host = attached;
      attach(attached);
    },
  });
}

beforeEach(() => {
  lines = [];
  klock = createKlock({ driver: tapped(), name: 'main' });
});

afterEach(() => klock.close());

const of = (event: string): Line[] => lines.filter(({ record }) => record.event === event);

describe('log records', () => {
  it('tell a lost lock with its key, fence and reason as fields, as a warning', async () => {
    logEvents(klock, keeping() as Logger);
    const lock = await klock.acquire(['tenant', 'invoice'], { maxHoldMs: 20 });
    await lock.done;
    expect(of('lock.lost')).toEqual([
      {
        level: 'warn',
        record: {
          event: 'lock.lost',
          message: expect.stringContaining('was lost: max-hold') as string,
          instance: 'main',
          key: 'tenant/invoice',
          fence: lock.fence.toString(),
          reason: 'max-hold',
          code: expect.any(String) as string,
          heldMs: expect.any(Number) as number,
        },
      },
    ]);
  });

  it('tell a store that does not answer, with the error’s own words, and that it answers again', () => {
    logEvents(klock, keeping() as Logger);
    host.storeState('unavailable', new Error('connect ECONNREFUSED'));
    host.storeState('available');
    host.warn('SOMETHING', 'odd', new Error('why'));
    expect(lines.map(({ level, record }) => [level, record.event, record.error])).toEqual([
      ['error', 'store.unavailable', 'connect ECONNREFUSED'],
      ['log', 'store.available', undefined],
      ['warn', 'warning', 'why'],
    ]);
  });

  it('of each lock are written only where asked for: acquired and released, with the key', async () => {
    logEvents(klock, keeping() as Logger);
    await (await klock.acquire('quiet')).release();
    expect(lines).toEqual([]);
    logEvents(klock, keeping() as Logger, true);
    await (await klock.acquire('told')).release();
    expect(lines.map(({ level, record }) => [level, record.event, record.key])).toEqual([
      ['log', 'lock.granted', 'told'],
      ['log', 'lock.released', 'told'],
    ]);
  });

  it('[D-58] are nobody’s where there is no logger: an instance alone writes nothing', async () => {
    const text = await writtenBy(async () => {
      const lock = await klock.acquire('k', { maxHoldMs: 20 });
      await lock.done;
      host.storeState('unavailable', new Error('away'));
      host.warn('ODD', 'something is odd');
    });
    expect(text).toBe('');
  });

  it('are sentences in a text log and fields in a JSON log', () => {
    const record = recordOfAWarning();
    const text = written(() => new ConsoleLogger({ colors: false }).warn(record, 'Klock'));
    expect(text).toMatch(/WARN \[Klock\] main: ODD: something is odd\s*$/);
    const json = written(() => new ConsoleLogger({ json: true, colors: false }).warn(record, 'Klock'));
    expect(JSON.parse(json)).toMatchObject({
      level: 'warn',
      context: 'Klock',
      message: { event: 'warning', instance: 'main', code: 'ODD' },
    });
    expect([String(record), inspect(record)]).toEqual(Array(2).fill('main: ODD: something is odd'));
  });
});

describe('logLocks', () => {
  async function application(options: Partial<KlockModuleOptions>): Promise<void> {
    const module = await Test.createTestingModule({
      imports: [KlockModule.forRoot({ driver: 'memory', ...options })],
    })
      .setLogger(keeping())
      .compile();
    await module.init();
    const own = module.get<KlockInstance>(getKlockToken());
    await (await own.acquire('k')).release();
    await module.close();
  }

  it('makes a Nest application write a record for each lock acquired and released', async () => {
    await application({ logLocks: true });
    expect([of('lock.granted').length, of('lock.released').length]).toEqual([1, 1]);
  });

  it('is off unless asked for', async () => {
    await application({});
    expect(of('lock.granted')).toEqual([]);
  });

  it('that is neither true nor false is refused', () => {
    const options = { driver: 'memory', logLocks: 'yes' } as unknown as KlockModuleOptions;
    let error: unknown;
    try {
      KlockModule.forRoot(options);
    } catch (caught) {
      error = caught;
    }
    expect(isLockError(error, 'INVALID_OPTION')).toBe(true);
  });
});

function recordOfAWarning(): unknown {
  let told: unknown;
  logEvents(klock, { warn: (record: unknown) => (told = record) } as unknown as Logger);
  host.warn('ODD', 'something is odd');
  return told;
}

function written(work: () => void): string {
  const [chunks, restore] = listenToStreams();
  try {
    work();
  } finally {
    restore();
  }
  return chunks.join('');
}

async function writtenBy(work: () => Promise<void>): Promise<string> {
  const [chunks, restore] = listenToStreams();
  await work().finally(restore);
  return chunks.join('');
}

/** What is written to the process's own streams until they are given back. */
function listenToStreams(): [chunks: string[], restore: () => void] {
  const chunks: string[] = [];
  const streams = [process.stdout, process.stderr];
  const before = streams.map((stream) => stream.write.bind(stream));
  for (const stream of streams) stream.write = (chunk: unknown) => chunks.push(String(chunk)) > 0;
  return [chunks, () => streams.forEach((stream, i) => (stream.write = before[i]!))];
}
