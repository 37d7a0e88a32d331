import { Logger } from '@nestjs/common';
import { createKlock, type InstanceOptions, type KlockInstance, type LockDriver } from '../core/index.js';
import { FakeClock } from '../core/fake-clock.js';
import { MemoryStore, memoryDriver } from '../drivers/memory/index.js';
import { bind } from './binding.js';
import type { Registry } from './registry.js';

// What is skipped, lost or unlocked is logged; the tests look at events and results.
Logger.overrideLogger(false);

/** An instance over a store of its own, on a clock that stands still, and what it told its listeners. */
export function openKlock(options: InstanceOptions & { name?: string; driver?: LockDriver } = {}): {
  clock: FakeClock;
  klock: KlockInstance;
} {
  const clock = new FakeClock();
  const driver = options.driver ?? memoryDriver({ store: new MemoryStore(clock) });
  return { clock, klock: createKlock({ ...options, driver, clock }) };
}

/** Makes an object belong to an application with these instances, without starting one. */
export function boundTo<T extends object>(object: T, ...instances: readonly KlockInstance[]): T {
  const registry: Registry = {
    closed: false,
    application: instances,
    names: instances.map((klock) => klock.name),
    find: (name) => instances.find((klock) => klock.name === name),
  };
  bind(object, registry);
  return object;
}

/** What a promise rejects with; fails the test if it does not. */
export async function rejection(promise: unknown): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}

/** What a function throws; fails the test if it does not. */
export function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('expected a throw');
}
