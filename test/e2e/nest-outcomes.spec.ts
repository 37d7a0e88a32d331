// What becomes of a call, its lock and its answer, in an application over HTTP, a network that can fail, and a lock server.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
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
  InjectKlock,
  KlockExceptionFilter,
  KlockModule,
  Locked,
  createKlock,
  getKlockToken,
  type Klock,
  type LockHandle,
} from 'klock';
import { klockDriver } from 'klock/client';
import { LockServer } from 'klock/server';
import { TcpProxy } from '../support/tcp-proxy.js';
import { rejection, sleep, until } from './nest-support.js';

const MINE = new HttpException({ mine: true }, 418);
const FROZEN: Error = Object.freeze(new Error('frozen'));
const THROWN: Record<string, unknown> = { mine: MINE, frozen: FROZEN, undefined, text: 'text' };
// Longer than releaseTimeoutMs, so that it is that which ends the wait for an answer.
const TTL_MS = 2_000;

/** Called at the end of each body, while its lock is held: what happens to the network then. */
let atTheEnd: () => unknown = () => undefined;

@Injectable()
class Work {
  signal: AbortSignal | undefined;

  @Locked('w:{0}')
  async returns(_key: string): Promise<number> {
    await atTheEnd();
    return 7;
  }

  @Locked('w:{0}')
  async throws(_key: string, what: string): Promise<number> {
    await atTheEnd();
    throw THROWN[what];
  }

  @Locked('w:{0}')
  throwsAtOnce(_key: string): Promise<number> {
    throw MINE;
  }

  @Locked('w:{0}', { onLost: 'ignore' })
  async ignoresLoss(_key: string): Promise<number> {
    await atTheEnd();
    return 7;
  }

  @Locked('w:{0}', { maxHoldMs: 700 })
  async hangs(_key: string, @CurrentLock() lock?: LockHandle): Promise<void> {
    this.signal = lock?.signal;
    await new Promise(() => undefined);
  }

  plain(): number {
    return 1;
  }
  plainThrow(): number {
    throw MINE;
  }
}
// As plain JavaScript does it: no type says what comes back.
for (const name of ['plain', 'plainThrow'] as const) {
  const descriptor = Object.getOwnPropertyDescriptor(Work.prototype, name) as PropertyDescriptor;
  (Locked(`w:${name}`) as unknown as MethodDecorator)(Work.prototype, name, descriptor);
  Object.defineProperty(Work.prototype, name, descriptor);
}

@Controller()
class Calls {
  constructor(
    private readonly work: Work,
    @InjectKlock() private readonly klock: Klock,
  ) {}

  @Get('call/:method/:key/:what')
  async call(
    @Param('method') method: string,
    @Param('key') key: string,
    @Param('what') what: string,
  ): Promise<string> {
    const calls = this.work as unknown as Record<string, (...args: string[]) => Promise<unknown>>;
    return String(await calls[method]!(key, what));
  }

  @Get('plain/:name')
  async plain(@Param('name') name: 'plain'): Promise<unknown> {
    const made: unknown = this.work[name]();
    return { isPromise: made instanceof Promise, value: await made };
  }

  @Get('nested')
  @Locked('n', { waitMs: 30_000 })
  async nested(): Promise<string> {
    return await this.inner();
  }
  @Locked('n')
  async inner(): Promise<string> {
    return 'inside';
  }

  @Get('counted')
  @Locked('n')
  async counted(@CurrentLock() lock?: LockHandle): Promise<unknown> {
    const inner = await this.innerCounted();
    return { same: inner === lock?.token, heldAfterInner: lock?.held };
  }
  @Locked('n', { reentry: 'count' })
  async innerCounted(@CurrentLock() lock?: LockHandle): Promise<string | undefined> {
    return lock?.token;
  }

  @Get('branches/:method')
  @Locked('n')
  async branches(@Param('method') method: 'slow'): Promise<string[]> {
    const ends = await Promise.allSettled([this[method](), this[method]()]);
    return ends.map((end) =>
      end.status === 'fulfilled' ? end.value : (end.reason as { code: string }).code,
    );
  }
  inside = 0;
  @Locked('n', { reentry: 'count' })
  async slow(): Promise<string> {
    this.inside++;
    await sleep(50);
    return `ran with ${this.inside--}`;
  }
  @Locked('n')
  async refused(): Promise<string> {
    return 'ran';
  }

  later: Promise<string> | undefined;
  @Get('timer')
  @Locked('n')
  async timer(): Promise<string> {
    setTimeout(() => void (this.later = this.inner()), 0);
    return 'left';
  }

  @Get('crossed/:first/:second')
  @Locked('x:{0}', { waitMs: 5_000 })
  async crossed(@Param('first') first: string, @Param('second') second: string): Promise<string> {
    await until('both hold', () => this.klock.isLocked(`x:${second}`));
    return await this.second(second);
  }
  @Locked('x:{0}', { waitMs: 400 })
  async second(_key: string): Promise<string> {
    return 'crossed';
  }
}

let server: LockServer;
let proxy: TcpProxy;
let app: INestApplication;
let klock: Klock;
let other: Klock;

beforeAll(async () => {
  server = new LockServer({ address: '127.0.0.1:0', minLeaseMs: 1 });
  await server.start();
  proxy = await TcpProxy.start({ target: { port: server.port } });
  const options = { url: `klock://127.0.0.1:${proxy.port}`, ttlMs: TTL_MS, waitMs: 5_000 };
  @Module({
    imports: [KlockModule.forRoot(options)],
    controllers: [Calls],
    providers: [Work, { provide: APP_FILTER, useClass: KlockExceptionFilter }],
  })
  class App {}
  app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  klock = app.get<Klock>(getKlockToken());
  // Somebody else, who reaches the server another way.
  other = createKlock({ driver: klockDriver({ url: `klock://127.0.0.1:${server.port}` }) });
});
afterEach(async () => {
  atTheEnd = () => undefined;
  proxy.heal();
  await proxy.accept();
  await until('nothing is left at the server', () => server.stats.locks === 0);
});
afterAll(async () => {
  await app.close();
  await other.close();
  await proxy.stop();
  await server.close({ graceMs: 1 });
});

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly tookMs: number;
}

async function get(path: string): Promise<Answer> {
  const started = performance.now();
  const response = await fetch(`${await app.getUrl()}/${path}`, { headers: { connection: 'close' } });
  const body = await response.text();
  return { status: response.status, body, tookMs: performance.now() - started };
}

describe('a release that fails', () => {
  const failures: Record<string, () => unknown> = {
    'is not answered': () => proxy.silence(),
    'cannot be sent': async () => {
      await proxy.refuse();
      proxy.reset();
    },
    'was sent, and its answer is lost': () => proxy.silence('down', { lost: true }),
  };

  it.each(Object.keys(failures))(
    '[B-077] [peers 2] leaves the result and the error of the method as they are, is told by an event, and delays neither by more than a second: %s',
    async (how) => {
      const failed = new Set<string>();
      const note = ({ key }: { key: readonly string[] }): unknown => failed.add(key.join('/'));
      using _unanswered = klock.on('release.failed', note);
      // Where the lease is over before an answer comes.
      using _late = klock.on('lock.released', (event) => event.outcome !== 'released' && note(event));
      for (const [method, what, expected] of [
        ['returns', '-', { status: 200, body: '7' }],
        ['throws', 'mine', { status: 418, body: '{"mine":true}' }],
      ] as const) {
        await get(`call/returns/warm/-`);
        atTheEnd = failures[how]!;
        const answer = await get(`call/${method}/${method}/${what}`);
        expect(answer).toMatchObject(expected);
        expect(answer.tookMs).toBeLessThan(1_000 + 500);
        atTheEnd = () => undefined;
        proxy.heal();
        await proxy.accept();
        await until('given back all the same', () => server.stats.locks === 0);
      }
      expect([...failed].sort()).toEqual(['w:returns', 'w:throws']);
    },
    20_000,
  );

  it('[B-077] hands on the very error that the method threw', async () => {
    await klock.withLock('warm', () => undefined);
    atTheEnd = () => proxy.silence();
    expect(await rejection(app.get(Work).throws('k', 'frozen'))).toBe(FROZEN);
  });
});

describe('a lock that is lost while the method runs', () => {
  /** What its release meets. */
  const afterwards: Record<string, () => unknown> = {
    'the server, which knows it no more': () => proxy.heal(),
    'nobody, and cannot be sent': async () => {
      await proxy.refuse();
      proxy.reset();
    },
    silence: () => undefined,
  };

  it.each(Object.keys(afterwards))(
    '[B-077] is answered 409; the error carries the result; onLost: ignore answers it; an error of the method always wins; the release meets %s',
    async (how) => {
      let losing: Promise<number> | undefined;
      let inside = 0;
      // Once all are in, not only granted: nothing comes through for longer than the lease.
      const loseAll = async (): Promise<number> => {
        await until('all hold', () => inside === 5);
        proxy.silence('both', { lost: true });
        await sleep(TTL_MS + 100);
        await afterwards[how]!();
        return performance.now();
      };
      atTheEnd = () => {
        inside++;
        return (losing ??= loseAll());
      };
      const work = app.get(Work);
      const [answer, error, ignored, own, same] = await Promise.all([
        get('call/returns/a/-'),
        rejection(work.returns('b')),
        get('call/ignoresLoss/c/-'),
        get('call/throws/d/mine'),
        rejection(work.throws('e', 'frozen')),
      ]);
      expect(performance.now() - (await losing!)).toBeLessThan(1_000 + 1_500);
      expect(answer.status).toBe(409);
      expect(JSON.parse(answer.body)).toMatchObject({ code: 'LOCK_LOST' });
      expect(error).toMatchObject({ code: 'LOCK_LOST', result: 7 });
      expect(ignored).toMatchObject({ status: 200, body: '7' });
      expect(own).toMatchObject({ status: 418, body: '{"mine":true}' });
      expect(same).toBe(FROZEN);
    },
    15_000,
  );
});

describe('a method that does not end well', () => {
  it('[B-079] passes its error on as it is, and somebody else has the key at once', async () => {
    for (const [what, status] of [
      ['mine', 418],
      ['frozen', 500],
      ['undefined', 500],
    ] as const) {
      expect((await get(`call/throws/${what}/${what}`)).status).toBe(status);
      const lock = await other.tryAcquire(`w:${what}`);
      expect(lock?.held).toBe(true);
      await lock?.release();
    }
    expect((await get('call/throwsAtOnce/once/-')).status).toBe(418);
    expect(await other.isLocked('w:once')).toBe(false);
    for (const [what, value] of Object.entries(THROWN)) {
      const thrown: unknown = await app
        .get(Work)
        .throws('k', what)
        .then(
          () => 'no rejection',
          (error: unknown) => error,
        );
      expect(thrown).toBe(value);
    }
  });

  it('[B-079] and never settles is answered at maxHoldMs: its signal aborts, renewal stops, somebody else has the key', async () => {
    const waiting = other.acquire('w:hanging', { waitMs: 10_000 }).catch(() => undefined);
    await (await waiting)?.release();
    const answer = get('call/hangs/hanging/-');
    await until('held', () => other.isLocked('w:hanging'));
    const next = other.acquire('w:hanging', { waitMs: 10_000 });
    expect(await answer).toMatchObject({ status: 409 });
    expect(app.get(Work).signal?.aborted).toBe(true);
    expect((await answer).tookMs).toBeLessThan(700 + 800);
    await (await next).release();
  }, 15_000);

  it('[B-071] [peers 3] gives a promise although it is synchronous, in plain JavaScript; what it throws at once rejects after the release', async () => {
    expect(JSON.parse((await get('plain/plain')).body)).toEqual({ isPromise: true, value: 1 });
    expect(await get('plain/plainThrow')).toMatchObject({ status: 418, body: '{"mine":true}' });
    expect(await other.isLocked('w:plainThrow')).toBe(false);
  });
});

describe('a locked method that calls another one of the same key', () => {
  it('[B-078] [peers 14] is refused at once: 500 to the client, both names to the program', async () => {
    const times: number[] = [];
    for (let turn = 0; turn < 5; turn++) {
      const { status, body } = await get('nested');
      expect([status, body]).toEqual([500, expect.not.stringContaining('inside')]);
      const started = performance.now();
      const error = await rejection(app.get(Calls).nested());
      times.push(performance.now() - started);
      expect(error).toMatchObject({ code: 'LOCK_REENTRY' });
      expect(error.message).toMatch(/Calls\.inner.*Calls\.nested/);
    }
    expect(Math.min(...times)).toBeLessThan(50);
  });

  it('[B-078] shares the lock where it is asked to count: same token, given back at the outer end', async () => {
    expect(JSON.parse((await get('counted')).body)).toEqual({ same: true, heldAfterInner: true });
    expect(await other.isLocked('n')).toBe(false);
  });

  it('[B-078] in two branches at once never runs them together', async () => {
    const shared = JSON.parse((await get('branches/slow')).body) as string[];
    expect(shared.sort()).toEqual(['LOCK_REENTRY', 'ran with 1']);
    expect(JSON.parse((await get('branches/refused')).body)).toEqual(['LOCK_REENTRY', 'LOCK_REENTRY']);
  });

  it('[B-078] from a timer that fires when the outer one has ended acquires as usual', async () => {
    expect((await get('timer')).body).toBe('left');
    const calls = app.get(Calls);
    await until('fired', () => calls.later !== undefined);
    expect(await calls.later).toBe('inside');
  });

  it('[B-078] crosswise in two requests ends by waitMs for at least one of them', async () => {
    const answers = await Promise.all([get('crossed/1/2'), get('crossed/2/1')]);
    expect(answers.map(({ status }) => status)).toContain(423);
    for (const { tookMs } of answers) expect(tookMs).toBeLessThan(400 + 2_500);
  }, 15_000);
});
