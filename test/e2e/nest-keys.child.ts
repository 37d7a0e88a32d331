// For test/e2e/nest-peers.spec.ts: what a process keeps of keys, and how it ends. Argument: the lock server's url,
// `memory`, or `redis:` and a port; the lease in milliseconds.
import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { InjectKlock, KlockModule, Locked, type Klock, type KlockModuleOptions } from 'klock';
import { emit, serve } from '../support/child-side.mjs';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
const [url = '', lease = '300'] = process.argv.slice(2);
const ttlMs = Number(lease);

@Injectable()
class Items {
  constructor(@InjectKlock() readonly klock: Klock) {}
  @Locked('tenant:{0}', 'item:{1}')
  async touch(_tenant: number, _item: number): Promise<void> {
    await Promise.resolve();
  }
}

const redis = url.startsWith('redis:') ? new Redis(Number(url.slice(6)), '127.0.0.1') : undefined;
const backend: KlockModuleOptions =
  url === 'memory' ? { driver: 'memory' } : redis === undefined ? { url, ttlMs } : { redis, ttlMs };

@Module({ imports: [KlockModule.forRoot(backend)], providers: [Items] })
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
const items = app.get(Items);

/** Every key is new. */
async function touch(from: number, count: number): Promise<number> {
  for (let n = from; n < from + count; n += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => items.touch(n, i)));
  }
  gc();
  return process.memoryUsage().heapUsed;
}

serve({
  touch,
  /** Ends its work in the middle of its renewals and closes; from then on nothing may keep the process. */
  finish: async () => {
    const work = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 330));
    // The second one waits for the first, and could have waited ten seconds more.
    await Promise.all([items.klock.withLock('work', work), items.klock.withLock('work', work)]);
    await app.close();
    // Given to the module, so it is not the module's to close.
    redis?.disconnect();
    emit('closed');
    process.stdin.destroy();
  },
});
