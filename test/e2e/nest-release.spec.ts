// A release that the store answers with `not held`, not at all, or that cannot be sent: behind a result, behind an error, and
// each with the lock still held or lost in the middle. Over HTTP, on a Redis behind a network that can fail: there, unlike
// on a lock server, a key can vanish before its holder is told.
import {
  Controller,
  Get,
  HttpException,
  Injectable,
  Module,
  Param,
  type INestApplication,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import {
  CurrentLock,
  KlockExceptionFilter,
  KlockModule,
  Locked,
  getKlockToken,
  type Klock,
  type LockEvent,
  type LockHandle,
} from 'klock';
import { RedisBed } from '../support/redis-bed.js';
import { connectIoredis, type TestClient } from '../support/redis-clients.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from './nest-support.js';

const MINE = new HttpException({ mine: true }, 418);
/** Renewed every second: long enough that nothing is lost but what the test takes. */
const TTL_MS = 3_000;
const CALLS = ['returns/kept', 'throws/kept', 'returns/lost', 'throws/lost', 'ignores/lost'] as const;

@Injectable()
class Work {
  readonly inside = new Map<string, LockHandle>();
  /** What all bodies wait for before they end. */
  gate = Promise.resolve();

  @Locked('{1}', '{0}')
  async returns(_what: string, key: string, @CurrentLock() lock?: LockHandle): Promise<number> {
    await this.stay(`returns/${key}`, lock);
    return 7;
  }

  @Locked('{1}', '{0}')
  async throws(_what: string, key: string, @CurrentLock() lock?: LockHandle): Promise<number> {
    await this.stay(`throws/${key}`, lock);
    throw MINE;
  }

  @Locked('{1}', '{0}', { onLost: 'ignore' })
  async ignores(_what: string, key: string, @CurrentLock() lock?: LockHandle): Promise<number> {
    await this.stay(`ignores/${key}`, lock);
    return 7;
  }

  private async stay(call: string, lock?: LockHandle): Promise<void> {
    if (lock !== undefined) this.inside.set(call, lock);
    await this.gate;
  }
}

@Controller()
class Calls {
  readonly thrown = new Map<string, unknown>();
  constructor(private readonly work: Work) {}

  @Get(':method/:key')
  async call(@Param('method') method: 'returns', @Param('key') key: string): Promise<string> {
    try {
      return String(await this.work[method](method, key));
    } catch (error) {
      this.thrown.set(`${method}/${key}`, error);
      throw error;
    }
  }
}

let bed: RedisBed;
let proxy: TcpProxy;
let client: TestClient;
/** Somebody else, who reaches Redis another way. */
let other: Klock;
let app: INestApplication;

beforeAll(async () => {
  bed = await RedisBed.start();
  proxy = await TcpProxy.start({ target: { port: bed.server.port } });
  client = await connectIoredis(proxy.port);
  other = await bed.open();
  @Module({
    imports: [KlockModule.forRoot({ redis: client.client, ttlMs: TTL_MS })],
    controllers: [Calls],
    providers: [Work, { provide: APP_FILTER, useClass: KlockExceptionFilter }],
  })
  class App {}
  app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
}, 60_000);
afterAll(async () => {
  await app.close();
  await client.end();
  await proxy.stop();
  await bed.stop();
});

/** Deletes all that Redis knows of the locks below `l1`. */
const takeAway = async (l1: string): Promise<unknown> =>
  await bed.admin.del(...(await bed.admin.keys(`lock:{${l1}}*`)));

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly endedAtMs: number;
}

async function get(path: string): Promise<Answer> {
  const response = await fetch(`${await app.getUrl()}/${path}`, { headers: { connection: 'close' } });
  const body = await response.text();
  return { status: response.status, body, endedAtMs: performance.now() };
}

describe('a release', () => {
  const failures: Record<string, { fail: () => unknown; told: string }> = {
    'answered not held': { fail: () => takeAway('kept'), told: 'lock.released: lost' },
    'that cannot be sent': {
      fail: async () => {
        await proxy.refuse();
        proxy.reset();
      },
      told: 'release.failed',
    },
    'not answered': { fail: () => proxy.silence(), told: 'release.failed' },
  };

  it.each(Object.keys(failures))(
    '[B-077] %s changes neither result nor error, of a lock that was held to the end or lost before, is told by an event, and delays none by more than a second',
    async (how) => {
      const { fail, told } = failures[how]!;
      const work = app.get(Work);
      const events: string[] = [];
      const note = (event: LockEvent & { key: readonly string[] }, text: string): void =>
        void (event.key[0] === 'kept' && events.push(`${event.key.join('/')} ${text}`));
      const klock = app.get<Klock>(getKlockToken());
      using _failed = klock.on('release.failed', (event) => note(event, event.type));
      using _released = klock.on('lock.released', (event) => note(event, `${event.type}: ${event.outcome}`));
      let open = (): void => undefined;
      work.gate = new Promise((resolve) => (open = resolve));
      work.inside.clear();

      const answers = CALLS.map(get);
      await until('all hold', () => work.inside.size === CALLS.length);
      await takeAway('lost');
      for (const call of CALLS.slice(2))
        await until('the loss is noticed', () => work.inside.get(call)?.signal.aborted === true);
      expect(CALLS.slice(0, 2).map((call) => work.inside.get(call)?.held)).toEqual([true, true]);
      await fail();
      const openedAtMs = performance.now();
      open();

      const ended = await Promise.all(answers);
      expect(ended).toMatchObject([
        { status: 200, body: '7' },
        { status: 418, body: '{"mine":true}' },
        { status: 409, body: expect.stringContaining('"code":"LOCK_LOST"') as string },
        { status: 418, body: '{"mine":true}' },
        { status: 200, body: '7' },
      ]);
      const { thrown } = app.get(Calls);
      expect(thrown.get('returns/lost')).toMatchObject({ code: 'LOCK_LOST', result: 7 });
      for (const call of ['throws/kept', 'throws/lost']) expect(thrown.get(call)).toBe(MINE);
      for (const { endedAtMs } of ended) expect(endedAtMs - openedAtMs).toBeLessThan(1_000 + 1_500);
      expect(new Set(events)).toEqual(new Set([`kept/returns ${told}`, `kept/throws ${told}`]));

      proxy.heal();
      await proxy.accept();
      for (const l1 of ['kept', 'lost'])
        await until('all are given back', async () => !(await other.isLocked(l1)));
    },
    20_000,
  );
});
