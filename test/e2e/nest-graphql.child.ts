// What test/e2e/nest-graphql.spec.ts starts: an application whose GraphQL server Jest cannot load.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import { EventEmitter, on } from 'node:events';
import 'reflect-metadata';
import { Module, NotFoundException } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { Args, Context, GraphQLModule, Mutation, Query, Resolver, Subscription } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  CurrentLock,
  FenceModule,
  Fenced,
  KlockExceptionFilter,
  KlockInterceptor,
  KlockModule,
  LockUnavailableError,
  Locked,
  getKlockToken,
  type Klock,
  type KeyInput,
  type KlockSlot,
  type LockHandle,
} from 'klock';
import { memoryFenceStore } from 'klock/fencing';
import { serve } from '../support/child-side.mjs';

@Resolver()
class Orders {
  bodies = 0;

  @Query('seats')
  @Locked((id: string) => ['seats', id], { waitMs: 0 })
  async seats(
    @Args('id') id: string,
    @Context() context: { klock?: KlockSlot },
    @CurrentLock() lock?: LockHandle,
  ): Promise<string> {
    this.bodies++;
    return `${id} ${lock?.held} ${context.klock?.fence === lock?.fence}`;
  }

  @Query('fenced')
  @Fenced('seats:{1.id}')
  fenced(@Args('id') id: string, @Context() context: { klock?: KlockSlot }): string {
    return `${id} ${context.klock?.accepted?.fence}`;
  }

  @Subscription('changes', { resolve: ([text]: string[]) => text })
  @Locked((id: string) => ['seats', id], { waitMs: 0 })
  changes(@Args('id') id: string): AsyncIterableIterator<string[]> {
    const events = new EventEmitter();
    const happen = (): boolean =>
      id === 'mine' ? events.emit('error', new Error('mine')) : events.emit('change', 'first');
    setImmediate(happen);
    return on(events, 'change');
  }

  @Locked('order:{0}')
  @Mutation('place')
  async place(@Args('id') id: string, @CurrentLock() lock?: LockHandle): Promise<string> {
    if (id === 'store') throw new LockUnavailableError('secret');
    if (id === 'mine') throw new NotFoundException('no such order');
    return `${id} ${lock?.held}`;
  }
}

@Module({
  imports: [
    KlockModule.forRoot({ driver: 'memory' }),
    FenceModule.forRoot({ store: memoryFenceStore() }),
    GraphQLModule.forRoot<MercuriusDriverConfig>({
      driver: MercuriusDriver,
      subscription: true,
      typeDefs: `type Query { seats(id: String): String fenced(id: String): String }
        type Mutation { place(id: String!): String }
        type Subscription { changes(id: String!): String }`,
    }),
  ],
  providers: [
    Orders,
    { provide: APP_FILTER, useClass: KlockExceptionFilter },
    { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
  ],
})
class App {}

const app = await NestFactory.create<NestFastifyApplication>(App, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
const klock = app.get<Klock>(getKlockToken());
let held: LockHandle | undefined;

serve({
  url: () => app.getUrl(),
  acquire: async (key: KeyInput) => void (held = await klock.acquire(key)),
  release: () => held?.release(),
  isLocked: (key: KeyInput) => klock.isLocked(key),
  bodies: () => app.get(Orders).bodies,
});
