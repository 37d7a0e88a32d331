/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Metadata } from '@grpc/grpc-js';
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  ParseIntPipe,
  Post,
  Put,
  Req,
  type INestApplication,
  type NestApplicationOptions,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import {
  ClientProxyFactory,
  GrpcMethod,
  Transport,
  type ClientGrpc,
  type ClientProxy,
} from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  CurrentFence,
  FENCE_HEADER,
  FenceModule,
  Fenced,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  Locked,
  createKlock,
  memoryDriver,
  type Klock,
  type KlockSlot,
} from 'klock';
import {
  attachFence,
  fenceHeaders,
  formatFenceHeader,
  memoryFenceStore,
  parseFenceHeader,
} from 'klock/fencing';
import { lastValueFrom, type Observable } from 'rxjs';
import { freePort } from '../support/free-ports.js';
import { proof } from './fencing-cases.js';
import { rejection, start } from './nest-support.js';

type FencedRequest = { readonly klock?: KlockSlot; readonly params: { readonly id: string } };

const writes: string[] = [];

@Injectable()
class Ledger {
  @Fenced('order:{0}')
  async write(id: string): Promise<string> {
    writes.push(id);
    return id;
  }
}

@Controller('orders')
class Orders {
  constructor(private readonly ledger: Ledger) {}

  @Fenced('order:{0.params.id}')
  @Put(':id')
  async update(
    @Param('id') id: string,
    @Req() request: FencedRequest,
    @Body() body: { text?: string },
  ): Promise<object> {
    writes.push(`${id} ${body.text}`);
    const { accepted } = request.klock ?? {};
    return { fence: accepted?.fence.toString(), key: accepted?.key, store: accepted?.store };
  }

  @Put(':id/lines/:line')
  @Fenced((request: { params: { id: string; line: string } }) => [
    `order:${request.params.id}`,
    request.params.line,
  ])
  async line(@Param('line') line: string): Promise<string> {
    writes.push(line);
    return line;
  }

  @Fenced('order:{0.params.id}')
  @Locked('audit:{0}')
  @Post(':id/audit')
  async above(@Param('id') id: string, @CurrentFence() fence?: bigint): Promise<string> {
    return `${id} ${typeof fence}`;
  }

  @Locked('audit:{0}')
  @Fenced('order:{0.params.id}')
  @Post(':id/audit2')
  async below(@Param('id') id: string, @CurrentFence() fence?: bigint): Promise<string> {
    return `${id} ${typeof fence}`;
  }

  @Fenced('number:{0.params.id}')
  @Get('number/:id')
  async number(@Param('id', ParseIntPipe) id: number): Promise<number> {
    return id + 1;
  }

  @Post('provider/:id')
  async provider(@Param('id') id: string): Promise<string> {
    return await this.ledger.write(id);
  }

  @Fenced('order:{0.body.order.id}')
  @Post('missing/part')
  async part(): Promise<string> {
    return 'never';
  }

  @GrpcMethod('Orders', 'Update')
  @Fenced('order:{0.id}')
  async updateByMessage(
    order: { id: string; text: string },
    metadata: { klock?: KlockSlot },
  ): Promise<object> {
    return { text: `${order.text} ${metadata.klock?.accepted?.fence}` };
  }
}

const filters = [
  { provide: APP_FILTER, useClass: KlockExceptionFilter },
  { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
];

@Module({
  imports: [
    KlockModule.forRoot({ driver: 'memory' }),
    FenceModule.forRootAsync({ useFactory: () => ({ store: memoryFenceStore(), namespace: 'shop' }) }),
  ],
  controllers: [Orders],
  providers: [Ledger, ...filters],
})
class App {}

async function startHttp(platform: 'express' | 'fastify'): Promise<INestApplication> {
  const options: NestApplicationOptions = { logger: false };
  const app =
    platform === 'express'
      ? await NestFactory.create(App, options)
      : await NestFactory.create<NestFastifyApplication>(App, new FastifyAdapter(), options);
  await app.listen(0, '127.0.0.1');
  return app;
}

describe.each(['express', 'fastify'] as const)('@Fenced over HTTP (%s)', (platform) => {
  let app: INestApplication;
  let url: string;
  /** The service that holds the locks and calls. */
  let klock: Klock;

  beforeAll(async () => {
    app = await startHttp(platform);
    url = await app.getUrl();
    klock = createKlock({ driver: memoryDriver(), namespace: 'shop' });
  });
  afterAll(async () => {
    await klock.close();
    await app.close();
  });
  beforeEach(() => void (writes.length = 0));

  async function call(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    text = 'x',
  ): Promise<Response> {
    const body = method === 'GET' ? undefined : JSON.stringify({ text });
    const all = { 'content-type': 'application/json', ...headers };
    return await fetch(`${url}${path}`, {
      method,
      headers: all,
      ...(body === undefined ? undefined : { body }),
    });
  }

  it('[I4] lets the holder write, and refuses one whose lock has passed to somebody else: 409, nothing written', async () => {
    const first = await klock.acquire('order:1');
    const stale = fenceHeaders(first);
    expect((await call('PUT', '/orders/1', stale, 'first')).status).toBe(200);
    await first.release();
    const written = await klock.withLock('order:1', () =>
      call('PUT', '/orders/1', fenceHeaders(klock), 'second'),
    );
    expect(written.status).toBe(200);
    const late = await call('PUT', '/orders/1', stale, 'late');
    expect(late.status).toBe(409);
    expect(await late.json()).toMatchObject({ code: 'STALE_FENCE' });
    expect(writes).toEqual(['1 first', '1 second']);
  });

  it('puts the accepted fence into request.klock, with the key of the grant', async () => {
    await using lock = await klock.acquire('order:2');
    const response = await call('PUT', '/orders/2', fenceHeaders(lock));
    const { store } = parseFenceHeader(fenceHeaders(lock)[FENCE_HEADER])[0]!;
    expect(await response.json()).toEqual({ fence: lock.fence.toString(), key: ['shop/order:2'], store });
  });

  it('the lock of an L1 covers its L2s and refuses older ones below it; a counted L2 writes as the L1', async () => {
    const older = await klock.acquire(['order:3', 'a']);
    const stale = fenceHeaders(older);
    await older.release();
    await klock.withLock('order:3', async () => {
      await klock.withLock(['order:3', 'b'], { reentry: 'count' }, async (counted) => {
        expect((await call('PUT', '/orders/3/lines/b', fenceHeaders(counted))).status).toBe(200);
      });
    });
    expect((await call('PUT', '/orders/3/lines/a', stale)).status).toBe(409);
    expect(writes).toEqual(['b']);
  });

  it('a flow that holds several locks sends all of them, and the resource takes its own', async () => {
    await klock.withLock('customer:9', async () => {
      await klock.withLock('order:4', async () => {
        await klock.withLock('else', async () => {
          expect((await call('PUT', '/orders/4', fenceHeaders(klock))).status).toBe(200);
        });
      });
    });
  });

  it('refuses with 400, before anything runs: no header, one nobody can read, one of another key', async () => {
    const other = await klock.acquire('order:5');
    const below = await klock.acquire(['order:6', 'a']);
    const malformed = [
      '',
      '42',
      '42; key="shop%2Forder:6"',
      '-1; key="shop%2Forder:6"; store="s"',
      'x'.repeat(9_000),
    ];
    const requests = [
      {},
      ...malformed.map((value) => ({ [FENCE_HEADER]: value })),
      fenceHeaders(other),
      fenceHeaders(below),
    ];
    for (const headers of requests) {
      const response = await call('PUT', '/orders/6', headers);
      expect([headers, response.status]).toEqual([headers, 400]);
      expect(await response.json()).toMatchObject({ code: 'INVALID_OPTION' });
    }
    expect(writes).toEqual([]);
    await Promise.all([other.release(), below.release()]);
  });

  it('a key that lacks a part in the request is 400', async () => {
    const response = await call('POST', '/orders/missing/part', {
      [FENCE_HEADER]: formatFenceHeader([proof(1n, 'k')]),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'KEY_UNRESOLVED' });
  });

  it('refuses the fence of another lock store with 409', async () => {
    await using lock = await klock.acquire('order:7');
    await call('PUT', '/orders/7', fenceHeaders(lock));
    const foreign = formatFenceHeader([
      proof(lock.fence + 10n, 'shop/order:7', undefined, 'redis:elsewhere'),
    ]);
    expect((await call('PUT', '/orders/7', { [FENCE_HEADER]: foreign })).status).toBe(409);
  });

  it('[B-012] compares and hands on fences above 2^53 exactly', async () => {
    await using known = await klock.acquire('order:1');
    const { store } = parseFenceHeader(fenceHeaders(known)[FENCE_HEADER])[0]!;
    const large = 2n ** 53n + 1n;
    const send = (fence: bigint): Promise<Response> =>
      call('PUT', '/orders/big', {
        [FENCE_HEADER]: formatFenceHeader([proof(fence, 'shop/order:big', undefined, store)]),
      });
    expect(await (await send(large)).json()).toMatchObject({ fence: large.toString() });
    expect((await send(large - 1n)).status).toBe(409);
  });

  it('stands beside @Locked in either order, and its pipes and the response header stay', async () => {
    await klock.withLock('order:8', async () => {
      for (const path of ['audit', 'audit2']) {
        const response = await call('POST', `/orders/8/${path}`, fenceHeaders(klock));
        expect([response.status, await response.text()]).toEqual([201, '8 bigint']);
        // The lock the handler took itself, not the fence it was called with.
        expect(parseFenceHeader(response.headers.get(FENCE_HEADER))).toMatchObject([{ key: ['audit:8'] }]);
      }
    });
    await klock.withLock('number:41', async () => {
      expect(await (await call('GET', '/orders/number/41', fenceHeaders(klock))).text()).toBe('42');
    });
  });

  it('a provider’s method, which no guard looks at, refuses to run', async () => {
    await klock.withLock('order:9', async () => {
      expect((await call('POST', '/orders/provider/9', fenceHeaders(klock))).status).toBe(500);
    });
    const error = await rejection((async () => await app.get(Ledger).write('9'))());
    expect(error).toMatchObject({ code: 'NOT_INITIALIZED' });
    expect(error.message).toContain('Ledger.write was not run');
    expect(writes).toEqual([]);
  });
});

describe('@Fenced over gRPC', () => {
  interface Service {
    update(order: { id: string; text: string }, metadata?: Metadata): Observable<{ text: string }>;
  }

  it('takes the fence from the metadata: accepted, stale FAILED_PRECONDITION, none INVALID_ARGUMENT', async () => {
    const options = {
      package: 'fenced',
      protoPath: 'test/e2e/fencing-orders.proto',
      url: `127.0.0.1:${await freePort()}`,
    };
    const app = await NestFactory.createMicroservice(App, {
      transport: Transport.GRPC,
      options,
      logger: false,
    });
    await app.listen();
    const client = ClientProxyFactory.create({
      transport: Transport.GRPC,
      options,
    }) as unknown as ClientGrpc & ClientProxy;
    const klock = createKlock({ driver: memoryDriver(), namespace: 'shop' });
    try {
      const orders = client.getService<Service>('Orders');
      const send = async (metadata: Metadata): Promise<unknown> =>
        await lastValueFrom(orders.update({ id: '1', text: 'a' }, metadata)).catch(
          (error: { code: number }) => error.code,
        );
      const older = await klock.acquire('order:1');
      const stale = attachFence(new Metadata(), older);
      await older.release();
      await klock.withLock('order:1', async (lock) => {
        expect(await send(attachFence(new Metadata(), klock))).toEqual({ text: `a ${lock.fence}` });
      });
      expect(await send(stale)).toBe(9);
      expect(await send(new Metadata())).toBe(3);
    } finally {
      await klock.close();
      await client.close();
      await app.close();
    }
  });
});

/** What a decorator does that knows nothing of others: it puts a bare function in place of the method. */
function bareWrapper(): MethodDecorator {
  return (_target, _name, descriptor: PropertyDescriptor) => {
    const inner = descriptor.value as (...args: unknown[]) => unknown;
    descriptor.value = function (this: unknown, ...args: unknown[]): unknown {
      return inner.apply(this, args);
    };
  };
}

describe('@Fenced never lets a call through unchecked', () => {
  async function startFailure(controller: Type): Promise<Error & { code?: string }> {
    @Module({ controllers: [controller] })
    class Bare {}
    return await rejection(start(Bare));
  }

  it('without FenceModule the application does not start, and the message says which import is missing', async () => {
    @Controller()
    class Plain {
      @Fenced('k')
      @Get()
      async read(): Promise<string> {
        return 'read';
      }
    }
    const error = await startFailure(Plain);
    expect(error.message).toContain('import FenceModule.forRoot({ store })');
  });

  it('under a decorator that hides its guard, the handler refuses', async () => {
    @Controller()
    class Hidden {
      @Get('hidden')
      @bareWrapper()
      @Fenced('k')
      async read(): Promise<string> {
        writes.push('hidden');
        return 'read';
      }
    }
    @Module({
      imports: [FenceModule.forRoot({ store: memoryFenceStore() })],
      controllers: [Hidden],
      providers: [{ provide: APP_FILTER, useClass: KlockExceptionFilter }],
    })
    class HiddenApp {}
    const app = await NestFactory.create(HiddenApp, { logger: false });
    await app.listen(0, '127.0.0.1');
    writes.length = 0;
    const headers = { [FENCE_HEADER]: formatFenceHeader([proof(1n, 'k')]) };
    expect((await fetch(`${await app.getUrl()}/hidden`, { headers })).status).toBe(500);
    expect(writes).toEqual([]);
    await app.close();
  });

  it('a fence store that fails refuses the call', async () => {
    @Controller()
    class Down {
      @Fenced('k')
      @Get('down')
      async read(): Promise<string> {
        writes.push('down');
        return 'read';
      }
    }
    const store = { stores: undefined, accept: () => Promise.reject(new Error('disk')) };
    @Module({ imports: [FenceModule.forRoot({ store })], controllers: [Down] })
    class DownApp {}
    const app = await NestFactory.create(DownApp, { logger: false });
    await app.listen(0, '127.0.0.1');
    const headers = { [FENCE_HEADER]: formatFenceHeader([proof(1n, 'k')]) };
    expect((await fetch(`${await app.getUrl()}/down`, { headers })).status).toBe(500);
    expect(writes).toEqual([]);
    await app.close();
  });

  it('refuses wrong options and targets by name', () => {
    expect(() => FenceModule.forRoot({} as never)).toThrow(/store must be a fence store/);
    expect(() => FenceModule.forRoot({ store: memoryFenceStore(), prefix: 'x' } as never)).toThrow(
      /no option "prefix"/,
    );
    expect(() => FenceModule.forRoot({ store: memoryFenceStore(), namespace: 'a/b' })).toThrow(
      /namespace must be/,
    );
    expect(() => Fenced('k')(class {}, undefined as never, undefined as never)).toThrow(
      /@Fenced cannot be used here/,
    );
    expect(() => {
      class Odd {
        @Fenced('order:{id}')
        run(): void {}
      }
      return Odd;
    }).toThrow(/Odd\.run holds \{id\}/);
  });
});
