// A holder that ends badly, for test/e2e/nest-crash.spec.ts. Arguments: the lock server's url, `hooks` or `plain`,
// the key.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { KlockModule, Locked } from 'klock';
import { emit, serve } from '../support/child-side.mjs';

const [url = '', hooks, key = ''] = process.argv.slice(2);

@Injectable()
class Work {
  /** A job of hours that asks for a lease of hours: the server gives what it gives to anybody, and it is renewed. */
  @Locked(() => key, { ttlMs: 3 * 3_600_000 })
  async hours(): Promise<void> {
    emit('holds', process.pid);
    await new Promise((resolve) => setTimeout(resolve, 3 * 3_600_000));
  }
}

@Module({ imports: [KlockModule.forRoot({ url, ttlMs: 2_000, graceMs: 100 })], providers: [Work] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
if (hooks === 'hooks') app.enableShutdownHooks();
void app
  .get(Work)
  .hours()
  .catch(() => undefined);

serve({
  crash: () =>
    setImmediate(() => {
      throw new Error('crashed');
    }),
  exit: () => process.exit(0),
  close: () => app.close(),
});
