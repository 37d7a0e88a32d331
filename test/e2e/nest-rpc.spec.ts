/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Controller, Inject, Module, type INestMicroservice } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import {
  ClientProxyFactory,
  Ctx,
  EventPattern,
  GrpcMethod,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
  type ClientGrpc,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { type Observable, concat, defer, delay, lastValueFrom, take, toArray } from 'rxjs';
import {
  CurrentFence,
  CurrentLock,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  LockUnavailableError,
  Locked,
  getKlockToken,
  type Klock,
  type KlockSlot,
  type LockHandle,
} from 'klock';
import { freePort } from '../support/free-ports.js';
import { until } from './nest-support.js';

interface Order {
  readonly id: string;
}
interface Placed {
  readonly text: string;
}
interface OrdersService {
  place(order: Order): Observable<Placed>;
  watch(order: Order): Observable<Placed>;
  watch2(order: Order): Observable<Placed>;
  fails(order: Order): Observable<Placed>;
}

@Controller()
class Orders {
  readonly events: string[] = [];
  constructor(@Inject(getKlockToken()) private readonly klock: Klock) {}

  private values(): Observable<Placed> {
    const value = (n: number): Observable<Placed> =>
      defer(async () => ({ text: `${n} ${await this.klock.isLocked('watch')}` })).pipe(delay(20));
    return concat(value(1), value(2), value(3));
  }

  @GrpcMethod('Orders')
  @Locked('order:{0.id}', { waitMs: 0 })
  async place(order: Order, @CurrentLock() lock?: LockHandle): Promise<Placed> {
    return { text: `${order.id} ${lock?.held}` };
  }

  @Locked('watch')
  @GrpcMethod('Orders')
  watch(): Observable<Placed> {
    return this.values();
  }

  // The type is inferred, so the wrapper learns from the call what it is.
  @GrpcMethod('Orders')
  @Locked('watch')
  watch2() {
    return this.values();
  }

  @GrpcMethod('Orders')
  @Locked('fails')
  async fails(order: Order): Promise<Placed> {
    if (order.id === 'store') throw new LockUnavailableError('secret');
    if (order.id === 'mine') throw new RpcException({ code: 5, message: 'mine' });
    throw new TypeError('secret');
  }

  @MessagePattern('place')
  @Locked('order:{0.id}', { waitMs: 0 })
  async placeByMessage(
    @Payload() order: Order,
    @CurrentFence() fence: bigint | undefined,
    @Ctx() context: { klock?: KlockSlot },
  ): Promise<string> {
    return `${order.id} ${typeof fence} ${context.klock?.fence === fence}`;
  }

  @Locked('watch')
  @MessagePattern('watch')
  watchByMessage() {
    return this.values();
  }

  @EventPattern('happened')
  @Locked('event:{0.id}')
  async happened(order: Order): Promise<void> {
    this.events.push(`${order.id} ${await this.klock.isLocked('event:' + order.id)}`);
  }
}

@Module({
  imports: [KlockModule.forRoot({ driver: 'memory' })],
  controllers: [Orders],
  providers: [
    { provide: APP_FILTER, useClass: KlockExceptionFilter },
    { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
  ],
})
class App {}

async function startMicroservice(
  options: MicroserviceOptions,
): Promise<{ app: INestMicroservice; klock: Klock }> {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(App, { ...options, logger: false });
  await app.listen();
  return { app, klock: app.get<Klock>(getKlockToken()) };
}

describe('a gRPC microservice', () => {
  let app: INestMicroservice;
  let klock: Klock;
  let client: ClientGrpc & ClientProxy;
  let orders: OrdersService;

  beforeAll(async () => {
    const options = {
      package: 'orders',
      protoPath: 'test/e2e/nest-orders.proto',
      url: `127.0.0.1:${await freePort()}`,
    };
    ({ app, klock } = await startMicroservice({ transport: Transport.GRPC, options }));
    client = ClientProxyFactory.create({ transport: Transport.GRPC, options }) as unknown as ClientGrpc &
      ClientProxy;
    orders = client.getService<OrdersService>('Orders');
  });
  afterAll(async () => {
    await client.close();
    await app.close();
  });

  const codeOf = async (call: Observable<unknown>): Promise<unknown> =>
    await lastValueFrom(call).then(
      () => 0,
      (error: { code: number; details: string }) => [error.code, error.details],
    );

  it('[B-061] [B-068] runs its handlers under their locks', async () => {
    expect(await lastValueFrom(orders.place({ id: '1' }))).toEqual({ text: '1 true' });
    expect(await klock.isLocked('order:1')).toBe(false);
  });

  it('[B-064] answers a busy key ABORTED, a key not in the request INVALID_ARGUMENT, a store that is down UNAVAILABLE', async () => {
    const held = await klock.acquire('order:1');
    expect(await codeOf(orders.place({ id: '1' }))).toEqual([10, 'The resource is locked by somebody else']);
    await held.release();
    expect(await codeOf(orders.place({ id: '' }))).toEqual([
      3,
      expect.stringContaining('names what is to be locked'),
    ]);
    expect(await codeOf(orders.fails({ id: 'store' }))).toEqual([14, expect.not.stringContaining('secret')]);
  });

  it("[B-064] leaves the handler's own exceptions alone", async () => {
    expect(await codeOf(orders.fails({ id: 'mine' }))).toEqual([5, 'mine']);
    expect(await codeOf(orders.fails({ id: 'other' }))).toEqual([2, expect.not.stringContaining('secret')]);
  });

  it.each(['watch', 'watch2'] as const)(
    '[B-069] holds for a whole stream, and frees it when the client cancels (%s)',
    async (name) => {
      const all = await lastValueFrom(orders[name]({ id: '1' }).pipe(toArray()));
      expect(all.map(({ text }) => text)).toEqual(['1 true', '2 true', '3 true']);
      await until('free', async () => !(await klock.isLocked('watch')));
      await lastValueFrom(orders[name]({ id: '1' }).pipe(take(1)));
      const cancelled = performance.now();
      await until('free', async () => !(await klock.isLocked('watch')));
      expect(performance.now() - cancelled).toBeLessThan(1_000);
    },
  );
});

describe('a TCP microservice', () => {
  let app: INestMicroservice;
  let klock: Klock;
  let client: ClientProxy;

  beforeAll(async () => {
    const options = { host: '127.0.0.1', port: await freePort() };
    ({ app, klock } = await startMicroservice({ transport: Transport.TCP, options }));
    client = ClientProxyFactory.create({ transport: Transport.TCP, options });
  });
  afterAll(async () => {
    await client.close();
    await app.close();
  });

  it('[B-061] [B-068] runs message and event handlers under their locks, with context.klock filled', async () => {
    expect(await lastValueFrom(client.send<string>('place', { id: '1' }))).toBe('1 bigint true');
    await lastValueFrom(client.emit('happened', { id: '7' }), { defaultValue: undefined });
    await until('event', () => app.get(Orders).events.length > 0);
    expect(app.get(Orders).events).toEqual(['7 true']);
  });

  it('[B-064] answers a busy key with its code', async () => {
    const held = await klock.acquire('order:1');
    const error: unknown = await lastValueFrom(client.send('place', { id: '1' })).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 10, error: 'LOCK_TIMEOUT', status: 'error' });
    await held.release();
  });

  it('[B-069] holds for a whole stream, all values in order', async () => {
    const all = await lastValueFrom(client.send<Placed>('watch', {}).pipe(toArray()));
    expect(all.map(({ text }) => text)).toEqual(['1 true', '2 true', '3 true']);
    await until('free', async () => !(await klock.isLocked('watch')));
  });
});
