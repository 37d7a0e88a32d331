// An application whose handlers hold locks through @Locked, for test/e2e/nest-revoke.spec.ts. Arguments: the lock server's
// url, the key.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CurrentLock, InjectKlock, KlockModule, Locked, type Klock, type LockHandle } from 'klock';
import { emit, serve } from '../support/child-side.mjs';

const [url = '', key = ''] = process.argv.slice(2);

@Injectable()
class Billing {
  constructor(@InjectKlock() readonly klock: Klock) {}

  /** Goes on until it is told to stop: by its lock, and by nothing else. */
  @Locked(() => ['billing', key], { waitMs: 60_000 })
  async run(turn: number, @CurrentLock() lock?: LockHandle): Promise<string> {
    if (lock === undefined) throw new Error('the handler has no lock');
    const { signal, fence } = lock;
    emit('holds', { turn, fence: String(fence) });
    const reason = await new Promise<unknown>((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
    });
    const { name, reason: why } = reason as { readonly name: string; readonly reason: string };
    emit('told', { turn, name, why, held: lock.held });
    return `turn ${turn} stopped`;
  }
}

@Module({
  imports: [KlockModule.forRoot({ url, ttlMs: 30_000, clientName: 'billing', graceMs: 100 })],
  providers: [Billing],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: false });
const billing = app.get(Billing);
billing.klock.on('lock.lost', ({ reason, code }) => emit('event', { reason, code }));

serve({
  run: (turn: number) =>
    void billing.run(turn).then(
      (result) => emit('ended', { turn, result }),
      (error: { code?: string; reason?: string; result?: unknown }) =>
        emit('ended', { turn, code: error.code, reason: error.reason, result: error.result }),
    ),
  close: () => app.close(),
});
