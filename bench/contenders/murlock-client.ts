import type { DynamicModule } from '@nestjs/common';
import { addressOf, DONE, LEASE_MS, type Contender, type Held } from './contender.js';
import { nestApp } from './nest-peer.js';
import { peer } from './peers.js';

interface MurLockSettings {
  /** Milliseconds; multiplied by the number of the attempt unless `flatWait`. */
  readonly wait: number;
  readonly maxAttempts: number;
  readonly flatWait: boolean;
}
interface MurLock {
  readonly MurLock: (releaseMs: number, ...rest: (number | string)[]) => MethodDecorator;
  readonly MurLockModule: { forRoot(options: object): DynamicModule };
}

/** `@MurLock` on a method of a provider. */
export function murlockContender(title: string, settings: MurLockSettings): Contender {
  return {
    title,
    family: 'redis-library',
    needs: 'redis',
    open: async (addresses) => {
      const { MurLock, MurLockModule } = peer<MurLock>('murlock');
      const { wait, maxAttempts, flatWait } = settings;

      class Orders {
        @MurLock(LEASE_MS, ...(flatWait ? [wait, 'id'] : ['id']))
        close(id: string, held: Held): Promise<void> {
          held();
          return DONE;
        }
      }

      const redisOptions = { url: `redis://${addressOf(addresses, 'redis')}` };
      // 'none' would log everything
      const options = { redisOptions, wait, maxAttempts, logLevel: 'error' };
      const app = await nestApp(MurLockModule.forRoot(options), Orders);
      const orders = app.get(Orders);
      return { section: ([id], held) => orders.close(id, held), close: () => app.close() };
    },
  };
}
