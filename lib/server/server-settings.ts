import {
  type Clock,
  MAX_DURATION_MS,
  MAX_LOCKS_PER_SESSION,
  MAX_SESSIONS,
  MAX_WAITERS,
  MAX_WAITERS_PER_KEY,
  optionError,
  type Random,
} from '../core/index.js';
import { type BindAddress, isLoopback, parseBindAddress } from './bind-address.js';
import { Problems } from './problems.js';
import { FALLBACK_RPS } from './rate-limiter.js';
import { MAX_CONNECTIONS } from './server-limits.js';
import type { ServerOptions, ServerSettings } from './server-options.js';

const NAMES = [
  'address',
  'allowInsecurePublicBind',
  'authToken',
  'acceptRawToken',
  'defaultLeaseMs',
  'minLeaseMs',
  'maxLeaseMs',
  'rateLimit',
  'idempotencyEntries',
  'idempotencyTtlMs',
  'shards',
  'stateDir',
  'firstStart',
  'drainMs',
  'mayRevoke',
  'maxSessions',
  'maxWaiters',
  'maxWaitersPerKey',
  'maxLocksPerSession',
  'maxConnections',
  'log',
  'production',
  'clock',
  'random',
];
const DEFAULT_ENTRIES = 65_536;
const ANY = -MAX_DURATION_MS;
const BOUNDS = {
  maxSessions: MAX_SESSIONS,
  maxWaiters: MAX_WAITERS,
  maxWaitersPerKey: MAX_WAITERS_PER_KEY,
  maxLocksPerSession: MAX_LOCKS_PER_SESSION,
  maxConnections: MAX_CONNECTIONS,
};

/**
 * Checks options and fills in defaults.
 * @param problems where to put what is wrong; absent: all of it is thrown here.
 * @throws InvalidOptionError listing everything that is wrong.
 */
export function resolveServerOptions(options: ServerOptions, problems = new Problems()): ServerSettings {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  problems.unknown('server', options, NAMES);
  const { acceptRawToken = false, firstStart = false, drainMs = 10_000, stateDir } = options;
  const { production = process.env.NODE_ENV === 'production' } = options;
  const authToken = readToken(options.authToken, problems);
  const settings: ServerSettings = {
    ...readAddress(options, authToken, problems),
    authToken,
    acceptRawToken: problems.boolean('acceptRawToken', acceptRawToken),
    ...readLeases(options, problems),
    rateLimit: readRateLimit(options.rateLimit, problems),
    ...readMemory(options, problems),
    stateDir: stateDir === undefined ? undefined : problems.text('stateDir', stateDir),
    firstStart: problems.boolean('firstStart', firstStart),
    drainMs: problems.integer('drainMs', drainMs, 0),
    mayRevoke: readMayRevoke(options.mayRevoke, problems),
    ...readBounds(options, problems),
    production: problems.boolean('production', production),
  };
  checkSources(options, problems);
  checkRestart(settings, problems);
  problems.throwIfAny('lock server');
  return settings;
}

/** Printable, so that it can be sent in a header at all. */
function readToken(value: unknown, problems: Problems): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') problems.add('authToken', 'a string', typeof value);
  else if (/[^\x20-\x7e]/.test(value.trim())) problems.add('authToken', 'printable ASCII', '(not shown)');
  else return value.trim() === '' ? undefined : value.trim();
  return undefined;
}

function readAddress(options: ServerOptions, token: string | undefined, problems: Problems): BindAddress {
  const { address: text = token === undefined ? '127.0.0.1:8080' : ':8080' } = options;
  const { allowInsecurePublicBind = false } = options;
  const open = problems.boolean('allowInsecurePublicBind', allowInsecurePublicBind);
  const address = typeof text === 'string' ? parseBindAddress(text) : undefined;
  if (address === undefined) {
    problems.add('address', 'host:port, [ipv6]:port or :port with a port up to 65535', text);
    return { host: undefined, port: 0 };
  }
  if (!open && token === undefined && !isLoopback(address.host)) {
    problems.add(
      'address',
      `a loopback address unless ${problems.name('authToken')} is set or ${problems.name('allowInsecurePublicBind')} is true`,
      text,
    );
  }
  return address;
}

function readLeases(options: ServerOptions, problems: Problems) {
  const { minLeaseMs: least = 1, maxLeaseMs: most = 60_000, defaultLeaseMs: usual = 8_000 } = options;
  const minLeaseMs = problems.integer('minLeaseMs', least, 1);
  const maxLeaseMs = problems.integer('maxLeaseMs', most, ANY);
  const defaultLeaseMs = problems.integer('defaultLeaseMs', usual, ANY);
  if (maxLeaseMs > 0 && minLeaseMs > maxLeaseMs)
    problems.add('minLeaseMs', `at most ${problems.name('maxLeaseMs')}, ${maxLeaseMs}`, minLeaseMs);
  if (maxLeaseMs > 0 && defaultLeaseMs > maxLeaseMs) {
    problems.add('defaultLeaseMs', `at most ${problems.name('maxLeaseMs')}, ${maxLeaseMs}`, defaultLeaseMs);
  }
  if (defaultLeaseMs > 0 && defaultLeaseMs < minLeaseMs) {
    problems.add('defaultLeaseMs', `at least ${problems.name('minLeaseMs')}, ${minLeaseMs}`, defaultLeaseMs);
  }
  return { defaultLeaseMs, minLeaseMs, maxLeaseMs };
}

function readRateLimit(limit: unknown, problems: Problems): ServerSettings['rateLimit'] {
  if (limit === false) return undefined;
  if (limit !== undefined && (typeof limit !== 'object' || limit === null)) {
    problems.add('rateLimit', 'false or { rps, burst }', limit);
    return undefined;
  }
  const { rps = 1_000, burst = 2_000, ...others } = (limit ?? {}) as { rps?: unknown; burst?: unknown };
  problems.unknown('rateLimit', others, ['rps', 'burst']);
  const wanted = problems.integer('rateLimit.rps', rps, ANY);
  const effective = wanted > 0 ? wanted : FALLBACK_RPS;
  const size = problems.integer('rateLimit.burst', burst, ANY);
  return { rps: effective, burst: size > 0 ? size : effective * 2 };
}

function readMemory(options: ServerOptions, problems: Problems) {
  const { idempotencyEntries = DEFAULT_ENTRIES, shards = 1_024, idempotencyTtlMs = 3_600_000 } = options;
  const entries = problems.integer('idempotencyEntries', idempotencyEntries, ANY);
  problems.integer('shards', shards, 0);
  return {
    idempotencyEntries: entries > 0 ? entries : DEFAULT_ENTRIES,
    idempotencyTtlMs: problems.integer('idempotencyTtlMs', idempotencyTtlMs, ANY),
  };
}

function readMayRevoke(rule: unknown, problems: Problems): ServerSettings['mayRevoke'] {
  if (typeof rule === 'function') return rule as ServerSettings['mayRevoke'];
  if (rule !== undefined && typeof rule !== 'boolean')
    problems.add('mayRevoke', 'true, false or a function', rule);
  return () => rule !== false;
}

function readBounds(options: ServerOptions, problems: Problems) {
  const bound = (name: keyof typeof BOUNDS): number => {
    const { [name]: value = BOUNDS[name] } = options;
    return problems.integer(name, value, 1);
  };
  return {
    maxSessions: bound('maxSessions'),
    maxWaiters: bound('maxWaiters'),
    maxWaitersPerKey: bound('maxWaitersPerKey'),
    maxLocksPerSession: bound('maxLocksPerSession'),
    maxConnections: bound('maxConnections'),
  };
}

/** Anything else would fail at its first use, in the middle of a start. */
function checkSources({ clock, random }: ServerOptions, problems: Problems): void {
  if (clock !== undefined && typeof (clock as Clock | null)?.after !== 'function')
    problems.add('clock', 'a clock', clock);
  if (random !== undefined && typeof (random as Random | null)?.id !== 'function')
    problems.add('random', 'a source of random ids', random);
}

/** Without a directory the only safe length of a quarantine is the configured maximum; there must be one then. */
function checkRestart(
  { production, stateDir, firstStart, maxLeaseMs }: ServerSettings,
  problems: Problems,
): void {
  if (production && stateDir === undefined && !firstStart && maxLeaseMs <= 0) {
    problems.add(
      'maxLeaseMs',
      `positive in production without ${problems.name('stateDir')}, or a restart could not know how long to wait`,
      maxLeaseMs,
    );
  }
}
