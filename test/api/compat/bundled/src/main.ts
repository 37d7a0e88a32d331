import 'reflect-metadata';
import { Controller, Get, Module, Param } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { CurrentLock, KlockExceptionFilter, KlockModule, Locked, getKlockToken } from 'klock';
import type { Klock, LockHandle } from 'klock';
import { klockDriver } from 'klock/client';
import { createKlock } from 'klock/core';
import { LockServer } from 'klock/server';

// One file without imports of its own, as `nest build` bundles it by webpack or rspack: an application that hosts a lock
// server and locks with it, is the client of another one over the wire, and answers HTTP under a lock.

@Controller()
class Invoices {
  @Get('close/:id')
  @Locked('invoice:{0}', { waitMs: 0 })
  async close(@Param('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    return `${id} ${String(lock?.held)}`;
  }
}

async function ask(url: string): Promise<string> {
  const response = await fetch(url, { headers: { connection: 'close' } });
  const body = await response.text();
  return `${response.status} ${response.ok ? body : (JSON.parse(body) as { code: string }).code}`;
}

function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what}: expected ${String(expected)}, got ${String(actual)}`);
}

async function main(): Promise<void> {
  const server = new LockServer({ address: '127.0.0.1:0' });
  await server.start();
  const url = `klock://${server.address}`;
  @Module({
    imports: [
      KlockModule.forRoot({ url }),
      KlockModule.forRoot({ name: 'hosted', server: { address: '127.0.0.1:0', firstStart: true } }),
    ],
    controllers: [Invoices],
    providers: [{ provide: APP_FILTER, useClass: KlockExceptionFilter }],
  })
  class App {}
  const app = await NestFactory.create(App, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const invoice = `${await app.getUrl()}/close/7`;
  expectEqual('a free key', await ask(invoice), '200 7 true');

  const elsewhere = createKlock({ driver: klockDriver({ url }) });
  const held = await elsewhere.acquire('invoice:7');
  expectEqual('a key somebody holds over the wire', await ask(invoice), '423 LOCK_TIMEOUT');
  expectEqual('its release', await held.release(), 'released');
  expectEqual('the key after it', await ask(invoice), '200 7 true');

  const own = await app.get<Klock>(getKlockToken('hosted')).acquire('own');
  expectEqual('a lock of the hosted server', own.held, true);
  await own.release();
  await elsewhere.close();
  await app.close();
  await server.close();
  console.log('locked and released');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
