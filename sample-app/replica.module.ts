import { Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR } from '@nestjs/core';
import { KlockExceptionFilter, KlockInterceptor, KlockModule } from 'klock';
import { requiredText, ttlMsFrom } from './process/environment.js';
import { ShopModule } from './shop/shop.module.js';

@Module({
  imports: [
    KlockModule.forRootAsync({
      useFactory: () => ({
        url: requiredText(process.env, 'KLOCK_URL'),
        clientName: process.env.REPLICA ?? 'replica',
        ttlMs: ttlMsFrom(process.env),
      }),
    }),
    ShopModule,
  ],
  providers: [
    // Answers a lock that could not be had with 423, 409 or 503 instead of 500.
    { provide: APP_FILTER, useClass: KlockExceptionFilter },
    // Puts the fence of the lock a request ran under into the header Klock-Fence.
    { provide: APP_INTERCEPTOR, useClass: KlockInterceptor },
  ],
})
export class ReplicaModule {}
