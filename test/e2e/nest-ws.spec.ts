/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Inject, Module, UseFilters, UseInterceptors, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { Observable, concat, defer, delay } from 'rxjs';
import {
  CurrentLock,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  Locked,
  getKlockToken,
  type Klock,
  type LockHandle,
} from 'klock';
import { until } from './nest-support.js';

interface Message {
  readonly event: string;
  readonly data: unknown;
}

/** The package has no types of its own. */
interface Socket {
  readonly readyState: number;
  on(event: 'message', listener: (text: Buffer) => void): void;
  send(text: string): void;
  close(): void;
}
const OPEN = 1;

// As application-wide providers the filter and the interceptor do not reach gateways: that is Nest's rule.
@WebSocketGateway()
@UseFilters(KlockExceptionFilter)
@UseInterceptors(KlockInterceptor)
class Gateway {
  constructor(@Inject(getKlockToken()) private readonly klock: Klock) {}

  @SubscribeMessage('place')
  @Locked('order:{0.id}', { waitMs: 0 })
  async place(@MessageBody() order: { id: string }, @CurrentLock() lock?: LockHandle): Promise<Message> {
    return { event: 'placed', data: `${order.id} ${lock?.held}` };
  }

  @Locked('watch')
  @SubscribeMessage('watch')
  watch(): Observable<Message> {
    const value = (n: number): Observable<Message> =>
      defer(async () => ({ event: 'value', data: `${n} ${await this.klock.isLocked('watch')}` })).pipe(
        delay(20),
      );
    return concat(value(1), value(2));
  }

  @SubscribeMessage('endless')
  @Locked('endless')
  endless(): Observable<Message> {
    return new Observable((subscriber) => subscriber.next({ event: 'value', data: 'first' }));
  }
}

@Module({ imports: [KlockModule.forRoot({ driver: 'memory' })], providers: [Gateway] })
class App {}

describe('a WebSocket gateway', () => {
  let app: INestApplication;
  let klock: Klock;
  let socket: Socket;
  let received: Message[];

  beforeAll(async () => {
    app = await NestFactory.create(App, { logger: false });
    app.useWebSocketAdapter(new WsAdapter(app));
    await app.listen(0, '127.0.0.1');
    klock = app.get<Klock>(getKlockToken());
  });
  afterAll(async () => await app.close());

  beforeEach(async () => {
    const name: string = 'ws';
    const { WebSocket } = (await import(name)) as { WebSocket: new (url: string) => Socket };
    received = [];
    socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
    socket.on('message', (text) => received.push(JSON.parse(text.toString()) as Message));
    await until('open', () => socket.readyState === OPEN);
  });
  afterEach(() => socket.close());

  const send = async (event: string, data: unknown, answers = 1): Promise<Message[]> => {
    socket.send(JSON.stringify({ event, data }));
    await until(`${answers} answers to ${event}`, () => received.length >= answers);
    return received;
  };

  it('[B-061] [B-068] runs its handlers under their locks', async () => {
    expect(await send('place', { id: '1' })).toEqual([{ event: 'placed', data: '1 true' }]);
    expect(await klock.isLocked('order:1')).toBe(false);
  });

  it('[B-064] tells its client of a busy key by an exception with its code', async () => {
    const held = await klock.acquire('order:1');
    expect(await send('place', { id: '1' })).toEqual([
      {
        event: 'exception',
        data: expect.objectContaining({ status: 'error', code: 'LOCK_TIMEOUT' }) as unknown,
      },
    ]);
    await held.release();
  });

  it('[B-069] holds for a whole stream', async () => {
    expect((await send('watch', {}, 2)).map(({ data }) => data)).toEqual(['1 true', '2 true']);
    await until('free', async () => !(await klock.isLocked('watch')));
  });

  it('[B-069] frees the lock of an endless stream when the client goes away', async () => {
    await send('endless', {});
    expect(await klock.isLocked('endless')).toBe(true);
    socket.close();
    await until('free', async () => !(await klock.isLocked('endless')));
  });
});
