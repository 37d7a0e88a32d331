import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { createKlock, isLockError, memoryDriver } from 'klock/core';
import * as client from 'klock/client';
import * as server from 'klock/server';
import * as etcd from 'klock/etcd';
import * as fencing from 'klock/fencing';
import * as redis from 'klock/redis';
import * as testing from 'klock/testing';
import * as nestTesting from 'klock/testing/nest';
import { overHttp } from './http.js';
import { everyShape } from './shapes.js';
import { sellOut, Stock, StockModule } from './stock.js';

async function nest(): Promise<void> {
  const app = await NestFactory.createApplicationContext(StockModule, { logger: ['error', 'warn'] });
  await sellOut(app.get(Stock));
  await app.close();
}

async function withoutNest(): Promise<void> {
  const klock = createKlock({ driver: memoryDriver() });
  const lock = await klock.acquire(['tenant', 'resource']);
  const busy = await klock.acquire('tenant', { waitMs: 0 }).catch((error: unknown) => error);
  if (!isLockError(busy) || busy.code !== 'LOCK_TIMEOUT')
    throw new Error(`expected LOCK_TIMEOUT: ${String(busy)}`);
  if ((await lock.release()) !== 'released') throw new Error('a held lock should be released');
  await klock.close();
}

async function main(): Promise<void> {
  for (const entry of [client, server, etcd, fencing, redis, testing, nestTesting]) {
    if (Object.keys(entry).length === 0) throw new Error('an entry point is empty');
  }
  await nest();
  await everyShape();
  await overHttp();
  await withoutNest();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
