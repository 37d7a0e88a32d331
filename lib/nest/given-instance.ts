import type { KlockInstance } from '../core/index.js';
import type { KlockModuleOptions } from './module-options.js';

/** An instance that somebody else made and ends: the testing kit. */
export interface GivenInstance {
  readonly klock: KlockInstance;
  /** Ends the instance when the application shuts down. */
  close(): Promise<void>;
}

const GIVEN = Symbol.for('klock.nest.given-instance.v1');

/** Module options that make `KlockModule` use an instance as it is instead of opening one. */
export function givenInstance(given: GivenInstance): KlockModuleOptions {
  return { driver: 'memory', name: given.klock.name, [GIVEN]: given } as KlockModuleOptions;
}

/** The instance that options carry, if they do. */
export function givenBy(options: object): GivenInstance | undefined {
  return (options as { readonly [GIVEN]?: GivenInstance })[GIVEN];
}
