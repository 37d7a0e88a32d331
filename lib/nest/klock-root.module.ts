import {
  Global,
  Inject,
  Logger,
  Module,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { systemClock, type Timer } from '../core/index.js';
import { KlockHealthIndicator } from './klock.health.js';
import { LockedExplorer } from './locked.explorer.js';
import { registryOfApplication, type ApplicationRegistry } from './registry.js';
import { noticeMissingHooks } from './shutdown-notice.js';
import { INSTANCE_OVERRIDE, REGISTRY, ROOT_REGISTRY } from './tokens.js';

const root = { provide: ROOT_REGISTRY, useFactory: registryOfApplication, inject: [ModulesContainer] };
const noOverride = { provide: INSTANCE_OVERRIDE, useValue: null };
const asSeenByModules = { provide: REGISTRY, useExisting: ROOT_REGISTRY };

/** The wiring behind `KlockModule`, once per application. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [root, asSeenByModules, noOverride, LockedExplorer, KlockHealthIndicator],
  exports: [ROOT_REGISTRY, REGISTRY, INSTANCE_OVERRIDE, KlockHealthIndicator],
})
export class KlockRootModule implements OnModuleInit, OnApplicationBootstrap, BeforeApplicationShutdown {
  private notice: Timer | undefined = undefined;

  constructor(
    @Inject(ROOT_REGISTRY) private readonly registry: ApplicationRegistry,
    @Inject(LockedExplorer) private readonly explorer: LockedExplorer,
  ) {}

  /** Global modules come first: objects made by factories are bound before any of their own hooks runs. */
  async onModuleInit(): Promise<void> {
    try {
      this.explorer.explore();
    } catch (error) {
      // An application that does not start is not closed either: nothing may go on listening.
      await this.registry.close();
      throw error;
    }
  }

  onApplicationBootstrap(): void {
    this.registry.noteStart();
    if (!this.registry.outlivesProcess) return;
    this.notice = noticeMissingHooks(systemClock, new Logger('Klock'), (signal) =>
      process.listenerCount(signal),
    );
  }

  /**
   * After every `onModuleDestroy`, which may still use locks, and before Nest closes its listeners, which wait for
   * requests in flight: a request that waits for a lock would keep them open.
   */
  async beforeApplicationShutdown(): Promise<void> {
    this.notice?.cancel();
    await this.registry.close();
  }
}
