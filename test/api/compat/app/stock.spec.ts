import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { sellOut, Stock, StockModule } from './stock.js';

it('runs inside the Jest of a CommonJS application', async () => {
  const app = await NestFactory.createApplicationContext(StockModule, { logger: false });
  await sellOut(app.get(Stock));
  await app.close();
});
