import type { LockDriver } from '../core/index.js';
import { optionError } from '../core/index.js';
import { memoryDriver } from '../drivers/memory/index.js';
import {
  REDIS_OPTIONS,
  URL_OPTIONS,
  type EtcdBackend,
  type HostedServerOptions,
  type RedisBackend,
  type UrlBackend,
} from './backend-options.js';

/** A back end ready to be given to an instance. */
export interface OpenBackend {
  readonly driver: LockDriver;
  /** Ends what was opened beside the driver, after the instance has closed. Never rejects. */
  close?(): Promise<void>;
}

type BackendOptions = Readonly<Record<string, unknown>>;

interface BackendKind {
  /** Further option names that belong to it. */
  readonly options: readonly string[];
  open(options: BackendOptions): OpenBackend | Promise<OpenBackend>;
}

export type BackendName = 'driver' | 'url' | 'server' | 'redis' | 'etcd';

/** Everything `KlockModule` can lock with. What is not in-process is loaded only when it is asked for. */
export const BACKENDS: Readonly<Record<BackendName, BackendKind>> = {
  driver: { options: [], open: ({ driver }) => ({ driver: asDriver(driver) }) },
  url: {
    options: URL_OPTIONS,
    open: async (options) => {
      const { klockDriver } = await import('../drivers/klock/index.js');
      return { driver: klockDriver(options as unknown as UrlBackend) };
    },
  },
  server: {
    options: [],
    open: async ({ server }) => {
      const { openHostedServer } = await import('../nest-server/index.js');
      return await openHostedServer(server as HostedServerOptions);
    },
  },
  redis: {
    options: REDIS_OPTIONS,
    open: async (options) => {
      const { redisDriver } = await import('../drivers/redis/index.js');
      const { redis, ...own } = options as unknown as RedisBackend;
      return { driver: redisDriver(redis, own) };
    },
  },
  etcd: {
    options: [],
    open: async (options) => {
      const { etcdDriver } = await import('../drivers/etcd/index.js');
      return { driver: etcdDriver((options as unknown as EtcdBackend).etcd) };
    },
  },
};

export const BACKEND_NAMES = Object.keys(BACKENDS) as BackendName[];

function asDriver(driver: unknown): LockDriver {
  if (driver === 'memory') return memoryDriver();
  if (typeof driver === 'object' && driver !== null && 'attach' in driver) return driver as LockDriver;
  throw optionError('driver', "'memory' or a LockDriver", driver);
}
