import { Inject, Injectable } from '@nestjs/common';
import type { Clock, DriverHealth, KlockInstance } from '../core/index.js';
import {
  checkDuration,
  checkLabel,
  checkOneOf,
  optionError,
  refuseUnknown,
  systemClock,
} from '../core/index.js';
import type { ApplicationRegistry } from './registry.js';
import { DEFAULT_INSTANCE, ROOT_REGISTRY } from './tokens.js';

/** A store that has not answered by then is not reachable, as far as a health check is concerned. */
const DEFAULT_TIMEOUT_MS = 3_000;

/** What a health check is told about one instance. */
export interface KlockHealth {
  readonly status: 'up' | 'degraded' | 'down';
  /** `memory`, `klock`, `redis`, `etcd`, or a driver of your own. */
  readonly driver: string;
  /** What the store says of itself; `closing` while this application shuts down. */
  readonly state: DriverHealth['state'] | 'closing';
  /** Leases whose last renewal failed: the locks on them are about to be lost. */
  readonly jeopardy: number;
  /** Round trip to the store in milliseconds, where one was made. */
  readonly tookMs?: number;
  readonly detail?: string;
}

/** The result under the name of its check, as terminus wants it. */
export type KlockHealthResult<Key extends string = string> = Record<Key, KlockHealth>;

/** How a check is made. */
export interface KlockHealthOptions {
  /** Name of the instance. Default: the unnamed one. */
  readonly use?: string;
  /** How long the store may take, in milliseconds. Default 3,000. */
  readonly timeoutMs?: number;
  /** The status while a lease is in jeopardy although the store answers. Default `degraded`, which terminus knows since 12.1. */
  readonly onJeopardy?: 'up' | 'degraded' | 'down';
}

/**
 * Tells a health check how the locks are: `() => this.locks.isHealthy('locks')`. It works with @nestjs/terminus and needs
 * nothing of it. `KlockModule` offers it to every module.
 *
 * Down: the store does not answer, refuses for good, drains or is quarantined after an unclean start, or this application
 * shuts down.
 */
@Injectable()
export class KlockHealthIndicator {
  constructor(@Inject(ROOT_REGISTRY) private readonly registry: ApplicationRegistry) {}

  /**
   * Asks the store, once.
   * @throws InvalidOptionError for an instance nobody registered; never because of the store.
   */
  async isHealthy<const Key extends string>(
    key: Key,
    options: KlockHealthOptions = {},
  ): Promise<KlockHealthResult<Key>> {
    const { use, timeoutMs, onJeopardy } = checkedOptions(options);
    const klock = await this.registry.find(use);
    if (klock === undefined) {
      throw optionError(
        'use',
        `one of ${this.registry.names.join(', ') || '(no instance is imported)'}`,
        use,
      );
    }
    const { state, ...facts } = await this.ask(klock, timeoutMs);
    const { driver, inJeopardy: jeopardy } = klock;
    const status = state !== 'ok' ? 'down' : jeopardy > 0 ? onJeopardy : 'up';
    return { [key]: { status, driver: driver.name, state, jeopardy, ...facts } } as KlockHealthResult<Key>;
  }

  private async ask(
    klock: KlockInstance,
    timeoutMs: number,
  ): Promise<Pick<KlockHealth, 'state' | 'tookMs' | 'detail'>> {
    if (this.registry.closed) return { state: 'closing' };
    return await within(systemClock, timeoutMs, klock.driver.health());
  }
}

/** The driver's answer, or ours when it takes too long: a health check must never hang. */
async function within(clock: Clock, timeoutMs: number, health: Promise<DriverHealth>): Promise<DriverHealth> {
  let cancel: () => void = () => undefined;
  const late = new Promise<DriverHealth>((resolve) => {
    const detail = `no answer within ${timeoutMs} ms`;
    const timer = clock.after(timeoutMs, () => resolve({ state: 'unreachable', detail }), {
      keepAlive: true,
    });
    cancel = () => timer.cancel();
  });
  try {
    return await Promise.race([health.catch(brokenHealth), late]);
  } finally {
    cancel();
  }
}

function brokenHealth(error: unknown): DriverHealth {
  return { state: 'unreachable', detail: error instanceof Error ? error.message : String(error) };
}

function checkedOptions(options: KlockHealthOptions): Required<KlockHealthOptions> {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('isHealthy', options, ['use', 'timeoutMs', 'onJeopardy']);
  const { use, timeoutMs, onJeopardy } = options;
  return {
    use: use === undefined ? DEFAULT_INSTANCE : checkLabel('use', use),
    timeoutMs: timeoutMs === undefined ? DEFAULT_TIMEOUT_MS : checkDuration('timeoutMs', timeoutMs),
    onJeopardy:
      onJeopardy === undefined
        ? 'degraded'
        : checkOneOf('onJeopardy', ['up', 'degraded', 'down'], onJeopardy),
  };
}
