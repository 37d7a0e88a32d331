import type { ModuleMetadata, InjectionToken } from '@nestjs/common';
import { InvalidOptionError, checkKeyPrefix, quote, refuseUnknown } from '../core/index.js';
import { checkFenceStore, type FenceStore } from '../fencing/index.js';

/** What `@Fenced` handlers of an application check fences with. */
export interface FenceModuleOptions {
  /** Where the marks are kept: `memoryFenceStore()`, `redisFenceStore(client)`, or one of your own. */
  readonly store: FenceStore;
  /** The namespace of the services that send fences, if their klock instance has one. */
  readonly namespace?: string;
}

/** Options made by a factory, from other providers. */
export interface FenceModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly inject?: InjectionToken[];
  useFactory(...deps: never[]): FenceModuleOptions | Promise<FenceModuleOptions>;
}

/** The injection token of the checked options. By `Symbol.for`, so that two copies of the package mean the same. */
export const FENCE_OPTIONS = Symbol.for('klock.nest.fence-options.v1');

/** The options after their check. */
export interface FenceSettings {
  readonly store: FenceStore;
  /** Put before the keys of `@Fenced`. */
  readonly prefix: string;
}

/** @throws InvalidOptionError naming the option. */
export function checkFenceOptions(source: string, options: unknown): FenceSettings {
  if (typeof options !== 'object' || options === null)
    throw new InvalidOptionError(`${source} needs an object with a store, got ${quote(options)}`, {
      option: 'options',
      value: options,
    });
  refuseUnknown(source, options, ['store', 'namespace']);
  const { store, namespace } = options as Partial<FenceModuleOptions>;
  return {
    store: checkFenceStore(store),
    prefix: namespace === undefined ? '' : `${checkKeyPrefix('namespace', namespace)}/`,
  };
}
