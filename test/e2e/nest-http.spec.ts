/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import {
  Body,
  Controller,
  Get,
  Header,
  HttpCode,
  HttpException,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Res,
  Sse,
  StreamableFile,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type INestApplication,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Observable, concat, defer, interval, map, of, tap, throwError } from 'rxjs';
import {
  BackendStateError,
  CurrentFence,
  CurrentLock,
  DeadlockError,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  LockAbortedError,
  LockLostError,
  LockUnavailableError,
  Locked,
  StaleFenceError,
  getKlockToken,
  lockSlot,
  type Klock,
  type LockError,
  type LockHandle,
} from 'klock';
import { until } from './nest-support.js';

interface Order {
  readonly id?: string;
}

const THROWN: Record<string, () => LockError> = {
  lost: () => new LockLostError('secret', { reason: 'expired', lossCode: 'X' }),
  deadlock: () => new DeadlockError('secret', { cycle: [['a'], ['b']] }),
  stale: () => new StaleFenceError('secret', { fence: 1n }),
  unavailable: () => new LockUnavailableError('secret'),
  backend: () => new BackendStateError('secret'),
  aborted: () => new LockAbortedError('secret', {}),
};

/** Shows what an interceptor sees of the lock once the handler is done. */
@Injectable()
class Watching implements NestInterceptor {
  static seen: unknown[] = [];
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const note = (): void => {
      const slot = lockSlot(context);
      Watching.seen.push([slot?.lock?.key, slot?.fence === slot?.lock?.fence && slot?.granted.length]);
    };
    note();
    return next.handle().pipe(tap(note));
  }
}

@Injectable()
class Stock {
  @Locked('stock:{0}')
  async take(_item: string, @CurrentFence() fence?: bigint): Promise<string> {
    return String(fence);
  }
}

@Controller()
class Shop {
  bodies = 0;
  constructor(private readonly stock: Stock) {}

  @Get('above/:id')
  @Header('x-kind', 'above')
  @HttpCode(203)
  @Locked('item:{0}')
  async above(@Param('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return `${id} ${lock?.held} ${lock?.fence}`;
  }

  @Locked('item:{1}')
  @HttpCode(203)
  @Header('x-kind', 'below')
  @Get('below/:id')
  async below(
    @CurrentFence() fence: bigint | undefined,
    @Param('id') id: string,
    @CurrentLock() lock?: LockHandle,
  ): Promise<string> {
    return `${id} ${lock?.held} ${fence}`;
  }

  @Get('only')
  @Locked('only')
  async onlyTheLock(@CurrentLock() lock?: LockHandle): Promise<string> {
    return `${lock?.held}`;
  }

  @Get('inner')
  @UseInterceptors(Watching)
  async inner(): Promise<string> {
    return await this.stock.take('a/b"é');
  }

  @Get('both')
  @Locked('page')
  async both(): Promise<string> {
    return await this.stock.take('x');
  }

  @Get('plain')
  async plain(): Promise<string> {
    return 'plain';
  }

  @Post('orders')
  @Locked('order:{0.id}', { waitMs: 0 })
  async order(@Body() order: Order): Promise<string> {
    this.bodies++;
    return order.id ?? '';
  }

  @Get('missing/:id')
  @Locked('item:{0}')
  async missing(@Param('id') id: string): Promise<void> {
    throw new NotFoundException(`no ${id}`);
  }

  @Get('gone')
  @Locked('gone')
  async gone(): Promise<void> {
    throw new HttpException({ mine: true }, 410);
  }

  @Get('thrown/:what')
  async thrown(@Param('what') what: string): Promise<void> {
    throw THROWN[what]?.() ?? new Error(what);
  }

  @Get('program')
  async program(): Promise<string> {
    return await this.outer();
  }
  @Locked('p')
  async outer(): Promise<string> {
    return await this.again();
  }
  @Locked('p')
  async again(): Promise<string> {
    return 'never';
  }

  @Get('sent')
  @Locked('sent', { waitMs: 0 })
  async sent(@Res() response: { raw?: NodeJS.WritableStream } & NodeJS.WritableStream): Promise<void> {
    const raw = response.raw ?? response;
    raw.write('first');
    throw new LockUnavailableError('too late');
  }

  @Sse('events')
  @Locked('events')
  events(): Observable<{ data: string }> {
    return interval(20).pipe(map((n) => ({ data: `${n}` })));
  }

  @Sse('feed/:how')
  @Locked('feed:{0}', { waitMs: 50 })
  feed(@Param('how') how: string): Observable<{ data: string }> {
    const error = how === 'mine' ? new Error('mine') : new BackendStateError('secret');
    return concat(
      of({ data: 'first' }),
      defer(() => throwError(() => error)),
    );
  }

  @Get('file')
  @Locked('file')
  async file(
    @Res({ passthrough: true }) response: ServerResponse & { readonly raw?: ServerResponse },
    @CurrentLock() lock?: LockHandle,
  ): Promise<StreamableFile> {
    // Fastify's reply has the response of Node below it.
    lock?.holdUntil(finished(response.raw ?? response));
    const endless = async function* (): AsyncGenerator<string> {
      for (;;) yield await Promise.resolve('x'.repeat(10_000));
    };
    return new StreamableFile(Readable.from(endless()));
  }

  @Get('stream')
  @Locked('stream')
  stream() {
    return new Observable((subscriber) => subscriber.next('never complete'));
  }
}

@Module({
  imports: [KlockModule.forRoot({ driver: 'memory' })],
  controllers: [Shop],
  providers: [
    Stock,
    { provide: APP_FILTER, useClass: KlockExceptionFilter },
    { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
  ],
})
class App {}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('a controller on %s', (_name, adapter) => {
  let app: INestApplication;
  let url: string;
  let klock: Klock;

  beforeAll(async () => {
    app = await NestFactory.create(App, adapter() as ExpressAdapter, {
      logger: false,
      forceCloseConnections: true,
    });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
    klock = app.get<Klock>(getKlockToken());
  });
  afterAll(async () => await app.close());

  const get = async (
    path: string,
    init?: RequestInit,
  ): Promise<{ status: number; body: string; headers: Headers }> => {
    const response = await fetch(`${url}/${path}`, {
      ...init,
      headers: { connection: 'close', ...init?.headers },
    });
    return { status: response.status, body: await response.text(), headers: response.headers };
  };
  const post = (order: Order): ReturnType<typeof get> =>
    get('orders', {
      method: 'POST',
      body: JSON.stringify(order),
      headers: { 'content-type': 'application/json' },
    });

  it('[B-068] [peers 1] routes, pipes, headers and status codes work with @Locked above and below them, and the lock fills its parameter', async () => {
    for (const kind of ['above', 'below']) {
      const { status, body, headers } = await get(`${kind}/7`);
      expect([status, headers.get('x-kind')]).toEqual([203, kind]);
      const [id, held, fence] = body.split(' ');
      expect([id, held]).toEqual(['7', 'true']);
      expect(headers.get('klock-fence')).toMatch(
        new RegExp(`^${fence}; key="item:7"; store="memory:\\d+:\\d+"$`),
      );
    }
    expect((await get('only')).body).toBe('true');
    expect(await klock.isLocked('item:7')).toBe(false);
  });

  it('carries every fence of a request in the header, escaped, and none where no lock was taken', async () => {
    Watching.seen = [];
    const inner = await get('inner');
    expect(inner.headers.get('klock-fence')).toMatch(
      new RegExp(`^${inner.body}; key="stock:a%252Fb%22%C3%A9"; store=`),
    );
    expect(Watching.seen).toEqual([
      [undefined, 0],
      [['stock:a%2Fb"é'], 1],
    ]);
    const both = await get('both');
    expect(both.headers.get('klock-fence')).toMatch(
      /^\d+; key="page"; store="[^"]+", \d+; key="stock:x"; store="[^"]+"$/,
    );
    expect((await get('plain')).headers.get('klock-fence')).toBeNull();
  });

  it('[B-064] answers a busy key with 423 and Retry-After, and shows neither key nor holder', async () => {
    const held = await klock.acquire('order:1');
    const { status, body, headers } = await post({ id: '1' });
    expect([status, headers.get('retry-after')]).toEqual([423, '1']);
    expect(JSON.parse(body)).toMatchObject({ statusCode: 423, code: 'LOCK_TIMEOUT' });
    expect(body).not.toContain('order:1');
    await held.release();
    expect((await post({ id: '1' })).status).toBe(201);
  });

  it('[B-074] answers 400 where the request lacks the value that names the lock, without running the body', async () => {
    const before = app.get(Shop).bodies;
    for (const order of [{}, { id: '' }, { id: null as never }, { id: {} as never }]) {
      const { status, body } = await post(order);
      expect([status, JSON.parse(body)]).toEqual([400, expect.objectContaining({ code: 'KEY_UNRESOLVED' })]);
    }
    expect(app.get(Shop).bodies).toBe(before);
    expect((await post({ id: 'x'.repeat(600) })).status).toBe(400);
  });

  it('[B-064] maps every other lock error to its status and tells nothing of its inside', async () => {
    const statuses = { lost: 409, deadlock: 409, stale: 409, unavailable: 503, backend: 500, aborted: 500 };
    for (const [what, expected] of Object.entries(statuses)) {
      const { status, body, headers } = await get(`thrown/${what}`);
      expect([what, status, headers.get('retry-after')]).toEqual([
        what,
        expected,
        what === 'unavailable' ? '1' : null,
      ]);
      expect(body).not.toContain('secret');
    }
    const program = await get('program');
    expect(program.status).toBe(500);
    expect(JSON.parse(program.body)).toEqual({ statusCode: 500, message: 'Internal server error' });
  });

  it('[B-064] [peers 2] leaves the exceptions of the handler alone', async () => {
    const missing = await get('missing/9');
    expect([missing.status, JSON.parse(missing.body)]).toEqual([
      404,
      { message: 'no 9', error: 'Not Found', statusCode: 404 },
    ]);
    expect(await get('gone')).toMatchObject({ status: 410, body: '{"mine":true}' });
    expect((await get('thrown/other')).status).toBe(500);
    expect((await get('nowhere')).status).toBe(404);
    expect(await klock.isLocked('item:9')).toBe(false);
  });

  it('ends a response whose first bytes have gone out', async () => {
    const response = await get('sent').catch(() => ({ status: 200, body: 'first' }));
    expect(response.body).toBe('first');
    await until('free', async () => !(await klock.isLocked('sent')));
  });

  it('[B-064] keeps key, holder and text of lock errors out of server-sent events, which no filter sees, and leaves other errors alone', async () => {
    const feed = async (how: string): Promise<string> => (await get(`feed/${how}`)).body;
    expect(await feed('mine')).toMatch(/data: first[^]*event: error[^]*data: mine/);
    const failed = await feed('store');
    expect(failed).toMatch(/data: first[^]*event: error[^]*data: Internal server error/);
    expect(failed).not.toContain('secret');
    const held = await klock.acquire('feed:busy');
    // The head of the response went out while the lock was waited for.
    expect(await feed('busy')).toMatch(
      /^[^]*event: error\n[^]*data: The resource is locked by somebody else\n/,
    );
    await held.release();
  });

  it.each(['events', 'stream', 'file'])(
    '[B-069] frees the lock of /%s when the client goes away',
    async (path) => {
      const { port, hostname } = new URL(url);
      const socket = connect(Number(port), hostname);
      socket.write(`GET /${path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n`);
      await until('locked', () => klock.isLocked(path));
      socket.destroy();
      const gone = performance.now();
      await until('free', async () => !(await klock.isLocked(path)));
      expect(performance.now() - gone).toBeLessThan(1_000);
    },
  );
});
