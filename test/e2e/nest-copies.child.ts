// Two copies of the package in one process, for test/e2e/nest-copies.spec.ts: the ES modules and the CommonJS build.
// Decorators, filter and interceptor come from one, the module from the other. Argument: `esm` or `cjs`, the module's.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Controller, Get, Inject, Injectable, Module, Param } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import * as esm from 'klock';
import type { Klock, LockHandle } from 'klock';
import { serve } from '../support/child-side.mjs';

const cjs = createRequire(import.meta.url)('klock') as typeof esm;
const [owner, feature] = process.argv[2] === 'esm' ? [esm, cjs] : [cjs, esm];

@Injectable()
class Service {
  constructor(@Inject(feature.getKlockToken()) readonly klock: Klock) {}

  @feature.Locked('k:{0}')
  async inner(_id: string, @feature.CurrentLock() lock?: LockHandle): Promise<string> {
    return `${lock?.held}`;
  }

  /** The same key in both copies: one flow, so it would wait for itself. */
  @owner.Locked('k:{0}')
  async nested(id: string): Promise<string> {
    return await this.inner(id);
  }

  @owner.Locked('k:{0}')
  async seen(_id: string, @owner.CurrentLock() lock?: LockHandle): Promise<boolean> {
    return this.klock.current()?.fence === lock?.fence;
  }

  @feature.RequiresLock('k:{0}')
  async required(_id: string): Promise<string> {
    return 'covered';
  }

  @owner.Locked('k:{0}')
  async covered(id: string): Promise<string> {
    return await this.required(id);
  }
}

@Controller()
class Orders {
  @Get(':id')
  @feature.Locked('k:{0}', { waitMs: 0 })
  async get(@Param('id') id: string): Promise<string> {
    return id;
  }
}

@Module({
  imports: [owner.KlockModule.forRoot({ driver: 'memory' })],
  controllers: [Orders],
  providers: [
    Service,
    { provide: APP_FILTER, useClass: feature.KlockExceptionFilter },
    { provide: APP_INTERCEPTOR, useClass: feature.KlockInterceptor },
  ],
})
class App {}

const app = await NestFactory.create(App, { logger: false, forceCloseConnections: true });
await app.listen(0, '127.0.0.1');
const service = app.get(Service);
const outcome = async (call: Promise<unknown>): Promise<unknown> =>
  await call.catch((error: unknown) => [
    (error as { code: string }).code,
    esm.isLockError(error) && cjs.isLockError(error),
  ]);

serve({
  different: () => esm.KlockModule !== cjs.KlockModule && esm.LockTimeoutError !== cjs.LockTimeoutError,
  tokens: () => [
    esm.getKlockToken() === cjs.getKlockToken(),
    app.get(owner.getKlockToken()) === service.klock,
  ],
  inner: () => outcome(service.inner('1')),
  nested: () => outcome(service.nested('1')),
  seen: () => outcome(service.seen('1')),
  covered: () => outcome(service.covered('1')),
  uncovered: () => outcome(service.required('1')),
  http: async () => {
    const url = await app.getUrl();
    const free = await fetch(`${url}/1`);
    const held = await service.klock.acquire('k:1');
    const busy = await fetch(`${url}/1`);
    await held.release();
    return [free.status, /^\d+; key="k:1"/.test(free.headers.get('klock-fence') ?? ''), busy.status];
  },
});
