import type { InjectionToken, ModuleMetadata } from '@nestjs/common';
import type { InstanceOptions } from '../core/index.js';
import {
  InvalidOptionError,
  checkBoolean,
  checkDuration,
  checkLabel,
  optionError,
  quote,
  refuseUnknown,
} from '../core/index.js';
import type { Backend } from './backend-options.js';
import { BACKENDS, BACKEND_NAMES, type BackendName } from './backends.js';
import { givenBy, type GivenInstance } from './given-instance.js';
import { DEFAULT_INSTANCE } from './tokens.js';

/** Options of one instance. */
export type KlockModuleOptions = InstanceOptions &
  Backend & {
    /** For several instances in one application; injected with `@InjectKlock(name)`, used with `@Locked(…, { use: name })`. */
    readonly name?: string;
    /** How long a shutdown waits for running sections. Default 10,000. */
    readonly graceMs?: number;
    /** Writes a log record for each lock acquired and released. Default false. */
    readonly logLocks?: boolean;
  };

/** Options made by a factory, from other providers. */
export interface KlockModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Must be known before the factory runs, since it makes the injection token. */
  readonly name?: string;
  readonly inject?: InjectionToken[];
  useFactory(...deps: never[]): KlockModuleOptions | Promise<KlockModuleOptions>;
}

/** A view for one feature module. */
export interface KlockFeatureOptions {
  /** Put before every key of the module's locks, with `/` between. */
  readonly prefix: string;
  /** Name of the instance behind the view. Default: the unnamed one. */
  readonly use?: string;
}

/** Options after their check, split by who reads them. */
export interface CheckedOptions {
  readonly name: string;
  readonly graceMs: number | undefined;
  readonly logLocks: boolean;
  readonly backend: BackendName;
  readonly backendOptions: Readonly<Record<string, unknown>>;
  readonly instance: InstanceOptions;
  /** Used as it is instead of a back end. */
  readonly given: GivenInstance | undefined;
  /** Memory was not asked for by name (design D12). */
  readonly unnamedMemory: boolean;
}

const HOLD = ['ttlMs', 'renew', 'localTtlMs', 'maxHoldMs', 'marginMs'];
const CALLS = ['waitMs', 'attemptMs', 'releaseTimeoutMs', 'renewEveryMs', 'renewTimeoutMs'];
const INSTANCE = [...HOLD, ...CALLS, 'namespace', 'clientName', 'reentry', 'handover', 'telemetry'];

const UNNAMED_MEMORY: CheckedOptions = {
  name: DEFAULT_INSTANCE,
  graceMs: undefined,
  logLocks: false,
  backend: 'driver',
  backendOptions: { driver: 'memory' },
  instance: {},
  given: undefined,
  unnamedMemory: true,
};

/** The configuration of `forRoot()` without an argument: locks of this process. */
export function unnamedMemory(): CheckedOptions {
  return UNNAMED_MEMORY;
}

/**
 * Checks module options as far as that is possible without a back end.
 * @param source what to call them in messages, such as `KlockModule.forRoot`.
 * @throws InvalidOptionError: nothing to lock with, more than one back end, an empty one, an option nobody knows.
 */
export function checkModuleOptions(source: string, options: unknown): CheckedOptions {
  if (!isOptions(options)) {
    throw new InvalidOptionError(
      `${source} was given ${quote(options)} as its options: leave the argument out for locks inside this process, or name a back end (${BACKEND_NAMES.join(', ')})`,
      { option: 'options', value: options },
    );
  }
  return checkOptions(source, options);
}

/**
 * The same for what a factory made.
 * @throws InvalidOptionError
 */
export function checkMadeOptions(made: unknown): CheckedOptions {
  if (!isOptions(made)) {
    throw new InvalidOptionError(
      `the factory of KlockModule.forRootAsync returned ${quote(made)}: return options that name a back end (${BACKEND_NAMES.join(', ')})`,
      { option: 'options', value: made },
    );
  }
  return checkOptions('the factory of KlockModule.forRootAsync', made);
}

function isOptions(options: unknown): options is object {
  return typeof options === 'object' && options !== null && !Array.isArray(options);
}

function checkOptions(source: string, options: object): CheckedOptions {
  const given = options as Readonly<Record<string, unknown>>;
  const backend = chosenBackend(source, given);
  refuseUnknown(source, given, [
    ...INSTANCE,
    'name',
    'graceMs',
    'logLocks',
    ...BACKEND_NAMES,
    ...BACKENDS[backend].options,
  ]);
  return {
    name: given.name === undefined ? DEFAULT_INSTANCE : checkLabel('name', given.name),
    graceMs: given.graceMs === undefined ? undefined : checkDuration('graceMs', given.graceMs),
    logLocks: given.logLocks === undefined ? false : checkBoolean('logLocks', given.logLocks),
    backend,
    backendOptions: pick(given, [backend, ...BACKENDS[backend].options]),
    instance: pick(given, INSTANCE),
    given: givenBy(options),
    unnamedMemory: false,
  };
}

function chosenBackend(source: string, given: Readonly<Record<string, unknown>>): BackendName {
  const present = BACKEND_NAMES.filter((name) => name in given);
  for (const name of present) {
    const value = given[name];
    if (
      value === undefined ||
      value === null ||
      value === '' ||
      (Array.isArray(value) && value.length === 0)
    ) {
      // An unset environment variable must not silently turn into locks that are local to each process.
      throw optionError(name, 'given if it is named at all', value);
    }
  }
  const [backend, second] = present;
  if (backend === undefined) {
    throw new InvalidOptionError(
      `${source} names no back end: give one of ${BACKEND_NAMES.join(', ')}; driver: 'memory' for locks inside this process`,
      { option: 'driver', value: undefined },
    );
  }
  if (second !== undefined) {
    throw new InvalidOptionError(`${source} names more than one back end: ${present.join(', ')}`, {
      option: second,
      value: given[second],
    });
  }
  return backend;
}

function pick(
  given: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]]),
  );
}

/** Whether two configurations mean the same; objects such as drivers and clients by identity. */
export function sameOptions(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isPlain(a) || !isPlain(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && sameOptions(a[name], b[name]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || prototype === Array.prototype;
}
