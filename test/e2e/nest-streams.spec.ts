// Locked methods that return streams, as clients meet them: SSE, gRPC and TCP, over a lock server behind a bad network.
import { request } from 'node:http';
import { Controller, Injectable, Module, Param, Sse, type INestApplication } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import {
  ClientProxyFactory,
  GrpcMethod,
  MessagePattern,
  Payload,
  Transport,
  type ClientGrpc,
  type ClientProxy,
} from '@nestjs/microservices';
import { Observable, Subject, concat, defer, delay, interval, map, of, throwError } from 'rxjs';
import {
  InjectKlock,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  Locked,
  createKlock,
  getKlockToken,
  type Klock,
} from 'klock';
import { klockDriver } from 'klock/client';
import { LockServer } from 'klock/server';
import { freePorts } from '../support/free-ports.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { sleep, until } from './nest-support.js';

interface Order {
  readonly id: string;
}
interface Value {
  readonly text: string;
}

const TTL_MS = 1_000;
const KEY = 'stream';

@Injectable()
class Sources {
  readonly hot = new Subject<Value>();
  constructor(@InjectKlock() private readonly klock: Klock) {}

  /** What the client asked for by its id. */
  of(kind: string): Observable<Value> {
    const value = (n: number): Observable<Value> =>
      defer(() => of({ text: `${n} ${this.klock.current(KEY)?.held}` })).pipe(delay(60));
    switch (kind) {
      case 'three':
        return concat(value(1), value(2), value(3));
      case 'fails':
        return concat(
          value(1),
          throwError(() => new Error('mine')),
        );
      case 'hot':
        return this.hot;
      default:
        return interval(30).pipe(map((n) => ({ text: String(n) })));
    }
  }
}

@Controller()
class Handlers {
  constructor(private readonly sources: Sources) {}

  @Sse('sse/:id')
  @Locked(KEY)
  sse(@Param('id') id: string): Observable<{ data: string }> {
    return this.sources.of(id).pipe(map(({ text }) => ({ data: text })));
  }

  @Locked(KEY)
  @GrpcMethod('Orders', 'Watch')
  grpc({ id }: Order): Observable<Value> {
    return this.sources.of(id);
  }

  // Its type is inferred, and its context is among its arguments.
  @MessagePattern('stream')
  @Locked(KEY)
  tcp({ id }: Order) {
    return this.sources.of(id);
  }

  // Here only the interceptor sees the context.
  @Locked(KEY)
  @MessagePattern('payload')
  payload(@Payload() { id }: Order): Observable<Value> {
    return this.sources.of(id);
  }
}

/** What a client has seen of its stream, and how it goes away. */
interface Seen {
  readonly texts: string[];
  ended: 'no' | 'complete' | 'error';
  error?: unknown;
  goAway(): void;
}

let server: LockServer;
let proxy: TcpProxy;
let other: Klock;
let app: INestApplication;
let ports: number[];
const grants: string[] = [];

beforeAll(async () => {
  server = new LockServer({ address: '127.0.0.1:0' });
  await server.start();
  proxy = await TcpProxy.start({ target: { port: server.port } });
  other = createKlock({ driver: klockDriver({ url: `klock://127.0.0.1:${server.port}` }) });
  ports = await freePorts(2);
  @Module({
    imports: [KlockModule.forRoot({ url: `klock://127.0.0.1:${proxy.port}`, ttlMs: TTL_MS })],
    controllers: [Handlers],
    providers: [
      Sources,
      { provide: APP_FILTER, useClass: KlockExceptionFilter },
      { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
    ],
  })
  class App {}
  app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
  const inherit = { inheritAppConfig: true };
  app.connectMicroservice({ transport: Transport.GRPC, options: grpcOptions() }, inherit);
  app.connectMicroservice({ transport: Transport.TCP, options: tcpOptions() }, inherit);
  await app.startAllMicroservices();
  await app.listen(0, '127.0.0.1');
  app.get<Klock>(getKlockToken()).on('lock.granted', ({ key }) => grants.push(key.join('/')));
});
afterEach(async () => {
  proxy.heal();
  await until('free', () => server.stats.locks === 0);
  grants.length = 0;
});
afterAll(async () => {
  await app.close();
  await other.close();
  await proxy.stop();
  await server.close({ graceMs: 1 });
});

const grpcOptions = () =>
  ({ package: 'orders', protoPath: 'test/e2e/nest-orders.proto', url: `127.0.0.1:${ports[0]}` }) as const;
const tcpOptions = () => ({ host: '127.0.0.1', port: ports[1]! }) as const;

function follow(source: Observable<Value>, close: () => void): Seen {
  const seen: Seen = { texts: [], ended: 'no', goAway: () => undefined };
  const subscription = source.subscribe({
    next: ({ text }) => seen.texts.push(text),
    error: (error: unknown) => Object.assign(seen, { ended: 'error', error }),
    complete: () => (seen.ended = 'complete'),
  });
  seen.goAway = () => {
    subscription.unsubscribe();
    close();
  };
  return seen;
}

const clients: Record<string, (id: string) => Promise<Seen>> = {
  SSE: async (id) => {
    const seen: Seen = { texts: [], ended: 'no', goAway: () => sent.destroy() };
    const sent = request(`${await app.getUrl()}/sse/${id}`, {
      agent: false,
      headers: { accept: 'text/event-stream' },
    });
    sent.on('error', () => undefined);
    sent.on('response', (response) => {
      response.setEncoding('utf8');
      response.on('error', () => undefined);
      response.on('data', (chunk: string) => {
        if (chunk.includes('event: error')) Object.assign(seen, { ended: 'error', error: chunk });
        else for (const [, text] of chunk.matchAll(/^data: (.*)$/gm)) seen.texts.push(text!);
      });
      response.on('end', () => seen.ended === 'no' && (seen.ended = 'complete'));
    });
    sent.end();
    return seen;
  },
  gRPC: (id) => {
    const client = ClientProxyFactory.create({
      transport: Transport.GRPC,
      options: grpcOptions(),
    }) as unknown as ClientGrpc & ClientProxy;
    const orders = client.getService<{ watch(order: Order): Observable<Value> }>('Orders');
    return Promise.resolve(follow(orders.watch({ id }), () => void client.close()));
  },
  TCP: (id) => overTcp('stream', id),
  'TCP, with @Payload()': (id) => overTcp('payload', id),
};

function overTcp(pattern: string, id: string): Promise<Seen> {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: tcpOptions() });
  return Promise.resolve(follow(client.send<Value>(pattern, { id }), () => void client.close()));
}

const ended = (seen: Seen): Promise<void> => until('ended', () => seen.ended !== 'no');

describe.each(Object.keys(clients))('a locked stream over %s', (transport) => {
  const ask = clients[transport]!;

  it('[B-069] [peers 3] holds until it completes, all values in order, by one grant', async () => {
    const seen = await ask('three');
    await until('held', () => server.stats.locks === 1);
    expect(await other.tryAcquire(KEY)).toBeUndefined();
    await ended(seen);
    expect([seen.texts, seen.ended]).toEqual([['1 true', '2 true', '3 true'], 'complete']);
    expect(grants).toEqual([KEY]);
    seen.goAway();
  });

  it('[B-069] frees its lock when it fails after a value', async () => {
    const seen = await ask('fails');
    await ended(seen);
    expect([seen.texts, seen.ended]).toEqual([['1 true'], 'error']);
    await until('free', () => server.stats.locks === 0);
    seen.goAway();
  });

  it('[B-069] is free in less than a second when the client of an endless stream goes away, in mid-stream or while it waits', async () => {
    const seen = await ask('endless');
    await until('values', () => seen.texts.length > 2);
    const waiting = await ask('endless');
    await sleep(100);
    expect([grants, waiting.texts]).toEqual([[KEY], []]);
    waiting.goAway();
    await sleep(100);
    seen.goAway();
    const gone = performance.now();
    const lock = await other.acquire(KEY);
    expect(performance.now() - gone).toBeLessThan(1_000);
    expect(grants).toEqual([KEY]);
    await lock.release();
  });

  it('[B-069] lets two clients in one after the other', async () => {
    const [first, second] = await Promise.all([ask('three'), ask('three')]);
    await until('one has ended', () => first.ended !== 'no' || second.ended !== 'no');
    await Promise.all([ended(first), ended(second)]);
    expect([first.texts, second.texts]).toEqual(Array(2).fill(['1 true', '2 true', '3 true']));
    expect(grants).toEqual([KEY, KEY]);
    first.goAway();
    second.goAway();
  });

  it('[B-069] holds for a hot source from its first listener to its end', async () => {
    const { hot } = app.get(Sources);
    const seen = await ask('hot');
    await until('listened to', () => hot.observed);
    hot.next({ text: 'one' });
    hot.next({ text: 'two' });
    await until('passed on', () => seen.texts.length === 2);
    expect(await other.isLocked(KEY)).toBe(true);
    seen.goAway();
    await until('not listened to', () => !hot.observed);
  });

  it('[B-069] fails when the lock is lost in mid-stream, and the client is told so', async () => {
    const seen = await ask('endless');
    await until('values', () => seen.texts.length > 0);
    proxy.silence('both', { lost: true });
    await ended(seen);
    proxy.heal();
    expect(seen.ended).toBe('error');
    // SSE has no place for a code; the others carry that of the filter.
    if (transport !== 'SSE') expect(seen.error).toMatchObject({ code: 10 });
    const { length } = seen.texts;
    await sleep(100);
    expect(seen.texts).toHaveLength(length);
    seen.goAway();
  });
});
