import { InvalidOptionError } from './errors.js';
import type { Capabilities } from './lock-driver.js';
import {
  DEFAULT_ATTEMPT_MS,
  DEFAULT_RELEASE_TIMEOUT_MS,
  DEFAULT_TTL_MS,
  DEFAULT_WAIT_MS,
  checkBoolean,
  checkDuration,
  checkKeyPrefix,
  checkLabel,
  checkMetadata,
  checkOneOf,
  checkSignal,
  checkWait,
  defaultMarginMs,
  optionError,
  refuseUnknown,
  type AcquireOptions,
  type InstanceOptions,
  type KlockOptions,
} from './options.js';
import type { SectionOptions } from './section.js';
import { checkTelemetry, noTelemetry, type Telemetry } from './telemetry.js';

/** An instance's options, checked, with every default filled in. */
export interface ResolvedOptions {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly clientName: string | undefined;
  readonly ttlMs: number;
  readonly renew: boolean;
  readonly localTtlMs: number | undefined;
  readonly maxHoldMs: number | undefined;
  readonly waitMs: number;
  readonly attemptMs: number;
  readonly renewEveryMs: number | undefined;
  readonly renewTimeoutMs: number | undefined;
  readonly releaseTimeoutMs: number;
  readonly reentry: 'refuse' | 'count';
  readonly handover: boolean;
  readonly telemetry: Telemetry;
  readonly marginOf: (leaseMs: number) => number;
}

/** One acquire's options, checked, with the instance's defaults filled in. */
export interface ResolvedAcquire {
  readonly ttlMs: number;
  readonly renew: boolean;
  readonly localTtlMs: number | undefined;
  readonly maxHoldMs: number | undefined;
  readonly waitMs: number;
  readonly attemptMs: number;
  readonly reentry: 'refuse' | 'count';
  readonly signal: AbortSignal | undefined;
  readonly owner: unknown;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly label: string | undefined;
  readonly atLeastMs: number | undefined;
}

const HOLD = ['ttlMs', 'renew', 'localTtlMs', 'maxHoldMs'] as const;
const TRY = [...HOLD, 'signal', 'owner', 'reentry', 'metadata'] as const;
const ACQUIRE = [...TRY, 'waitMs', 'attemptMs'] as const;
const SECTION = [...ACQUIRE, 'label', 'atLeastMs'] as const;

/** Options {@link resolveOptions} knows besides `driver`. */
export const INSTANCE_OPTIONS = [
  ...HOLD,
  'name',
  'waitMs',
  'attemptMs',
  'namespace',
  'clientName',
  'renewEveryMs',
  'renewTimeoutMs',
  'marginMs',
  'releaseTimeoutMs',
  'reentry',
  'handover',
  'telemetry',
] as const;

type Checked = Record<string, unknown>;

function given<T>(
  options: object,
  name: string,
  check: (option: string, value: unknown) => T,
): T | undefined {
  const value = (options as Checked)[name];
  return value === undefined ? undefined : check(name, value);
}

/** Checks the options of an instance and against each other. @throws InvalidOptionError naming the option and the value. */
export function resolveOptions(options: KlockOptions, capabilities: Capabilities): ResolvedOptions {
  refuseUnknown('createKlock', options, [...INSTANCE_OPTIONS, 'driver', 'clock', 'random']);
  const marginMs = given(options, 'marginMs', checkDuration);
  const resolved: ResolvedOptions = {
    name: given(options, 'name', checkLabel) ?? 'default',
    namespace: given(options, 'namespace', checkKeyPrefix),
    clientName: given(options, 'clientName', checkLabel),
    ttlMs: given(options, 'ttlMs', checkDuration) ?? DEFAULT_TTL_MS,
    renew: given(options, 'renew', checkBoolean) ?? true,
    localTtlMs: given(options, 'localTtlMs', checkDuration),
    maxHoldMs: given(options, 'maxHoldMs', checkDuration),
    waitMs: given(options, 'waitMs', checkWait) ?? DEFAULT_WAIT_MS,
    attemptMs: given(options, 'attemptMs', checkDuration) ?? DEFAULT_ATTEMPT_MS,
    renewEveryMs: given(options, 'renewEveryMs', checkDuration),
    renewTimeoutMs: given(options, 'renewTimeoutMs', checkDuration),
    releaseTimeoutMs: given(options, 'releaseTimeoutMs', checkDuration) ?? DEFAULT_RELEASE_TIMEOUT_MS,
    reentry: given(options, 'reentry', checkReentry) ?? 'refuse',
    handover: given(options, 'handover', checkBoolean) ?? true,
    telemetry: given(options, 'telemetry', checkTelemetry) ?? noTelemetry,
    marginOf: marginMs === undefined ? defaultMarginMs : () => marginMs,
  };
  checkLease(resolved, capabilities, resolved.ttlMs, resolved.localTtlMs);
  checkRenewal(resolved);
  return resolved;
}

function checkReentry(option: string, value: unknown): 'refuse' | 'count' {
  return checkOneOf(option, ['refuse', 'count'], value);
}

function checkRenewal(options: ResolvedOptions): void {
  const usableMs = options.ttlMs - options.marginOf(options.ttlMs);
  for (const name of ['renewEveryMs', 'renewTimeoutMs'] as const) {
    const value = options[name];
    if (value === undefined || value < usableMs) continue;
    throw optionError(
      name,
      `below ttlMs - marginMs (${usableMs} ms): the lease would end before its renewal`,
      value,
    );
  }
}

/** Refuses a lease that its margin would eat up, or that the store cannot give. */
function checkLease(
  options: ResolvedOptions,
  capabilities: Capabilities,
  ttlMs: number,
  localTtlMs: number | undefined,
): void {
  const marginMs = options.marginOf(ttlMs);
  if (ttlMs <= marginMs) throw optionError('ttlMs', `above the safety margin of ${marginMs} ms`, ttlMs);
  if (ttlMs % capabilities.leaseUnitMs !== 0) {
    throw optionError(
      'ttlMs',
      `a multiple of ${capabilities.leaseUnitMs} ms: this store's leases are that coarse`,
      ttlMs,
    );
  }
  if (localTtlMs !== undefined && localTtlMs > ttlMs - marginMs) {
    throw optionError('localTtlMs', `at most ttlMs - marginMs (${ttlMs - marginMs} ms)`, localTtlMs);
  }
}

/** The acquire that no option changes. */
export function plainAcquire(options: ResolvedOptions): ResolvedAcquire {
  return {
    ttlMs: options.ttlMs,
    renew: options.renew,
    localTtlMs: options.localTtlMs,
    maxHoldMs: options.maxHoldMs,
    waitMs: options.waitMs,
    attemptMs: options.attemptMs,
    reentry: options.reentry,
    signal: undefined,
    owner: undefined,
    metadata: undefined,
    label: undefined,
    atLeastMs: undefined,
  };
}

/** Checks one acquire's options. @throws InvalidOptionError naming the option and the value, before any I/O. */
export function resolveAcquire(
  instance: ResolvedOptions,
  plain: ResolvedAcquire,
  capabilities: Capabilities,
  call: 'acquire' | 'tryAcquire' | 'withLock' | 'section',
  options: SectionOptions,
): ResolvedAcquire {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown(call, options, call === 'tryAcquire' ? TRY : call === 'section' ? SECTION : ACQUIRE);
  const ttlMs = given(options, 'ttlMs', checkDuration) ?? plain.ttlMs;
  const localTtlMs = given(options, 'localTtlMs', checkDuration) ?? plain.localTtlMs;
  checkLease(instance, capabilities, ttlMs, localTtlMs);
  const atLeastMs = given(options, 'atLeastMs', checkDuration);
  if (atLeastMs !== undefined && !capabilities.atLeast) {
    throw new InvalidOptionError(`atLeastMs is not available with this driver`, {
      option: 'atLeastMs',
      value: atLeastMs,
    });
  }
  return {
    ttlMs,
    localTtlMs,
    atLeastMs,
    renew: given(options, 'renew', checkBoolean) ?? plain.renew,
    maxHoldMs: given(options, 'maxHoldMs', checkDuration) ?? plain.maxHoldMs,
    waitMs: given(options, 'waitMs', checkWait) ?? plain.waitMs,
    attemptMs: given(options, 'attemptMs', checkDuration) ?? plain.attemptMs,
    reentry: given(options, 'reentry', checkReentry) ?? plain.reentry,
    signal: given(options, 'signal', checkSignal),
    owner: (options as AcquireOptions).owner,
    metadata: given(options, 'metadata', (_, value) => checkMetadata(value)),
    label: options.label,
  };
}

/** Names of options an instance takes, for checks of composed option objects. */
export type InstanceOptionName = keyof InstanceOptions;
