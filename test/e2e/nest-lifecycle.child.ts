// What test/e2e/nest-lifecycle.spec.ts starts: an application of the kind it is told, over a lock server elsewhere.
// Arguments: `http`, `microservice` or `hybrid`; `hooks` or `plain` (shutdown hooks or not); the server's url; graceMs.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern, Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { CurrentLock, InjectKlock, KlockModule, Locked, type Klock, type LockHandle } from 'klock';
import { emit, serve } from '../support/child-side.mjs';

const [kind, hooks, url = '', graceMs = '10000'] = process.argv.slice(2);
const BODY_MS = 600;

@Controller()
class Works {
  constructor(@InjectKlock() readonly klock: Klock) {}

  @Get('work')
  @Locked('work:http')
  async overHttp(@CurrentLock() lock?: LockHandle): Promise<string> {
    return await this.body(lock);
  }

  @MessagePattern('work')
  @Locked('work:message')
  async overTcp(_data: unknown, @CurrentLock() lock?: LockHandle): Promise<string> {
    return await this.body(lock);
  }

  @Locked('endless')
  async endless(): Promise<void> {
    emit('inside', 'endless');
    await new Promise(() => undefined);
  }

  private async body(lock: LockHandle | undefined): Promise<string> {
    emit('inside', 'work');
    await new Promise((resolve) => setTimeout(resolve, BODY_MS));
    emit('finished', lock?.held);
    return 'done';
  }
}

@Module({
  imports: [KlockModule.forRoot({ url, ttlMs: 1_000, graceMs: Number(graceMs) })],
  controllers: [Works],
})
class App {}

const logger = {
  log: () => undefined,
  error: (line: unknown) => emit('log', String(line)),
  warn: (line: unknown) => emit('log', String(line)),
};
const port = Number(process.env.KLOCK_TEST_PORT);
const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port } } as const;

async function start(): Promise<{ works: Works; url: string }> {
  if (kind === 'microservice') {
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(App, { ...tcp, logger });
    if (hooks === 'hooks') app.enableShutdownHooks();
    await app.listen();
    return { works: app.get(Works), url: '' };
  }
  const app = await NestFactory.create(App, { logger, forceCloseConnections: true });
  if (kind === 'hybrid') {
    app.connectMicroservice<MicroserviceOptions>(tcp);
    await app.startAllMicroservices();
  }
  if (hooks === 'hooks') app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  return { works: app.get(Works), url: await app.getUrl() };
}

const started = await start();
serve({
  url: () => started.url,
  endless: () => void started.works.endless().catch(() => undefined),
  listeners: () => process.listenerCount('SIGTERM'),
});
