/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { Controller, Get, Injectable, Module, Sse, type INestApplication, type Type } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { of, type Observable } from 'rxjs';
import {
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  Locked,
  getKlockToken,
  isLockError,
  type ErrorStatus,
  type Klock,
  type LockError,
} from 'klock';

@Controller()
class Seats {
  @Get('seat')
  @Locked('seat', { waitMs: 0 })
  async seat(): Promise<string> {
    return 'yours';
  }

  /** Its head goes out while the lock is waited for. */
  @Sse('news')
  @Locked('seat', { waitMs: 50 })
  news(): Observable<{ data: string }> {
    return of({ data: 'free' });
  }
}

/** An application with its own mind about busy keys; all other answers stay. */
function impatient(error: LockError, usual: ErrorStatus): ErrorStatus {
  if (!isLockError(error, 'LOCK_TIMEOUT')) return usual;
  return { ...usual, http: 429, message: 'Come back later', retryAfterS: 7 };
}
@Injectable()
class Impatient extends KlockExceptionFilter {
  protected override statusOf(error: LockError): ErrorStatus {
    return impatient(error, super.statusOf(error));
  }
}
@Injectable()
class ImpatientStreams extends KlockInterceptor {
  protected override statusOf(error: LockError): ErrorStatus {
    return impatient(error, super.statusOf(error));
  }
}

async function listen(
  filter: Type,
  interceptor: Type,
  adapter: ExpressAdapter | FastifyAdapter,
): Promise<INestApplication> {
  @Module({
    imports: [KlockModule.forRoot({ driver: 'memory' })],
    controllers: [Seats],
    providers: [
      { provide: APP_FILTER, useClass: filter },
      { provide: APP_INTERCEPTOR, useClass: interceptor },
    ],
  })
  class App {}
  const app = await NestFactory.create(App, adapter, { logger: false, forceCloseConnections: true });
  await app.listen(0, '127.0.0.1');
  return app;
}

async function answerOf(app: INestApplication): Promise<unknown[]> {
  const response = await fetch(`${await app.getUrl()}/seat`, { headers: { connection: 'close' } });
  const { message } = (await response.json()) as { message: string };
  return [response.status, response.headers.get('retry-after'), message];
}

/** What the error event of the stream says. */
async function newsOf(app: INestApplication): Promise<string | undefined> {
  const response = await fetch(`${await app.getUrl()}/news`, { headers: { connection: 'close' } });
  return /event: error[^]*data: (.*)/.exec(await response.text())?.[1];
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const)('the answers of an application over %s', (_, adapter) => {
  it('[B-064] can be changed by a filter and an interceptor of its own, beside another application that keeps the usual ones', async () => {
    const apps = await Promise.all([
      listen(Impatient, ImpatientStreams, adapter()),
      listen(KlockExceptionFilter, KlockInterceptor, adapter()),
    ]);
    try {
      const [own, usual] = apps;
      for (const app of apps) await app.get<Klock>(getKlockToken()).acquire('seat');
      expect(await answerOf(own)).toEqual([429, '7', 'Come back later']);
      expect(await answerOf(usual)).toEqual([423, '1', 'The resource is locked by somebody else']);
      expect(await newsOf(own)).toBe('Come back later');
      expect(await newsOf(usual)).toBe('The resource is locked by somebody else');
      // A request after shutdown began is told that the service is not there, not that it is busy.
      await own.get<Klock>(getKlockToken()).close();
      expect((await answerOf(own))[0]).toBe(503);
    } finally {
      await Promise.all(apps.map((app) => app.close()));
    }
  });
});
