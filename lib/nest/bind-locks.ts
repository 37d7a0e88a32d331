import type { Klock, KlockInstance } from '../core/index.js';
import { ENTER_SECTION, optionError } from '../core/index.js';
import { bind } from './binding.js';
import type { Registry } from './registry.js';

/**
 * Gives an object that no Nest application made its locks: a service built by hand in a unit test or a script.
 * @param klocks for the decorated methods, each under its own name; methods without `use` need one named `default`.
 * @returns the object itself. It may be bound again.
 * @throws InvalidOptionError for what is no object or no klock.
 */
export function bindLocks<T extends object>(object: T, ...klocks: readonly [Klock, ...Klock[]]): T {
  if (typeof object !== 'object' || object === null) throw optionError('object', 'an object', object);
  for (const klock of klocks) {
    const isKlock = typeof klock === 'object' && klock !== null && ENTER_SECTION in klock;
    if (!isKlock) throw optionError('klock', 'made by createKlock', klock);
  }
  bind(object, new BoundByHand(klocks as unknown as readonly KlockInstance[]));
  return object;
}

class BoundByHand implements Registry {
  /** No application ends it, so the next one to bind the object may have it. */
  readonly closed = true;
  readonly application = this;

  constructor(private readonly klocks: readonly KlockInstance[]) {}

  get names(): readonly string[] {
    return this.klocks.map(({ name }) => name);
  }

  find(name: string): KlockInstance | undefined {
    return this.klocks.find((klock) => klock.name === name);
  }
}
