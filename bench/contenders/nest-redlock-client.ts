import type { DynamicModule } from '@nestjs/common';
import { addressOf, DONE, LEASE_MS, type Contender, type Held } from './contender.js';
import { nestApp } from './nest-peer.js';
import { peer } from './peers.js';
import type { RedlockSettings } from './redlock-settings.js';

interface NestRedlock {
  readonly Redlock: (key: (target: unknown, id: string) => string, durationMs: number) => MethodDecorator;
  readonly RedlockModule: { register(options: object): DynamicModule };
}
interface RedisClient {
  disconnect(): void;
}

/** `@Redlock` of @anchan828/nest-redlock on a method of a provider. */
export function nestRedlockContender(title: string, settings: RedlockSettings): Contender {
  return {
    title,
    family: 'redis-library',
    needs: 'redis',
    open: async (addresses) => {
      const { Redlock, RedlockModule } = peer<NestRedlock>('@anchan828/nest-redlock');
      const { Redis } = peer<{ Redis: new (url: string) => RedisClient }>('ioredis');

      class Orders {
        @Redlock((_, id) => `nest-redlock:${id}`, LEASE_MS)
        close(_id: string, held: Held): Promise<void> {
          held();
          return DONE;
        }
      }

      const redis = new Redis(`redis://${addressOf(addresses, 'redis')}`);
      const app = await nestApp(RedlockModule.register({ clients: [redis], settings }), Orders);
      const orders = app.get(Orders);
      return { section: ([id], held) => orders.close(id, held), close: () => app.close() };
    },
  };
}
