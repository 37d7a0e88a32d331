import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CurrentFence, KlockModule, Locked } from 'klock';
import { addressOf, DONE, LEASE_MS, WAIT_MS, type Contender, type Held } from './contender.js';

@Injectable()
class Orders {
  @Locked('{0}', { waitMs: WAIT_MS })
  close(id: string, held: Held, @CurrentFence() fence?: bigint): Promise<void> {
    held(fence);
    return DONE;
  }
}

/** `@Locked` on a method of a provider, over the klock driver. */
export const contender: Contender = {
  title: '@Locked, klock driver',
  family: 'klock',
  needs: 'klock',
  open: async (addresses) => {
    const locks = KlockModule.forRoot({ url: `klock://${addressOf(addresses, 'klock')}`, ttlMs: LEASE_MS });

    @Module({ imports: [locks], providers: [Orders] })
    class App {}

    const app = await NestFactory.createApplicationContext(App, { logger: false });
    const orders = app.get(Orders);
    return { section: ([id], held) => orders.close(id, held), close: () => app.close() };
  },
};
