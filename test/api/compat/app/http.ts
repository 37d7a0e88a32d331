import { Controller, Get, Module, Param, type INestApplication } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  Locked,
  getKlockToken,
  type Klock,
} from 'klock';

@Controller()
class Orders {
  @Get('orders/:id')
  @Locked('order:{0}', { waitMs: 0 })
  async get(@Param('id') id: string): Promise<string> {
    return id;
  }
}

/** The application with its own lock server inside. */
@Module({
  imports: [KlockModule.forRoot({ server: { address: '127.0.0.1:0' } })],
  controllers: [Orders],
  providers: [
    { provide: APP_FILTER, useClass: KlockExceptionFilter },
    { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
  ],
})
class App {}

async function serve(app: INestApplication): Promise<void> {
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/orders/7`;
  const free = await fetch(url, { headers: { connection: 'close' } });
  if ((await free.text()) !== '7' || !free.headers.get('klock-fence')?.includes('key="order:7"'))
    throw new Error(`expected 7 and its fence, got ${free.status}`);
  const held = await app.get<Klock>(getKlockToken()).acquire('order:7');
  const busy = await fetch(url, { headers: { connection: 'close' } });
  if (busy.status !== 423 || busy.headers.get('retry-after') !== '1')
    throw new Error(`expected 423, got ${busy.status}`);
  await held.release();
  await app.close();
}

export async function overHttp(): Promise<void> {
  const options = { logger: ['error', 'warn'] as ('error' | 'warn')[], forceCloseConnections: true };
  await serve(await NestFactory.create(App, options));
  await serve(await NestFactory.create(App, new FastifyAdapter(), options));
}
