import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { KlockTestingModule, TestKlock } from 'klock/testing/nest';
import { sellOut, Stock, StockModule } from './stock.js';

it('runs inside the Jest of a CommonJS application', async () => {
  const app = await NestFactory.createApplicationContext(StockModule, { logger: false });
  await sellOut(app.get(Stock));
  await app.close();
});

it('runs under the testing kit, which replaces the locks of the application', async () => {
  const locks = new TestKlock();
  const builder = Test.createTestingModule({ imports: [StockModule] });
  const app = await KlockTestingModule.override(builder, locks).compile();
  await sellOut(app.get(Stock));
  const elsewhere = await locks.another().klock.acquire('stock:screws');
  const waiting = app
    .get(Stock)
    .take('screws')
    .catch((error: { code: string }) => error.code);
  await locks.advance(10_000);
  expect(await waiting).toBe('LOCK_TIMEOUT');
  await elsewhere.release();
  await app.close();
});
