import {
  MAX_DURATION_MS,
  MAX_LOCKS_PER_SESSION,
  MAX_SESSIONS,
  MAX_WAITERS,
  MAX_WAITERS_PER_KEY,
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

/**
 * Checks options and fills in defaults.
 * @param problems where to put what is wrong; absent: all of it is thrown here.
 * @throws InvalidOptionError listing everything that is wrong.
 */
export function resolveServerOptions(options: ServerOptions, problems = new Problems()): ServerSettings {
  problems.unknown('server', options, NAMES);
  const authToken = readToken(options.authToken, problems);
  const settings: ServerSettings = {
    ...readAddress(options, authToken, problems),
    authToken,
    acceptRawToken: problems.boolean('acceptRawToken', options.acceptRawToken ?? false),
    ...readLeases(options, problems),
    rateLimit: readRateLimit(options.rateLimit, problems),
    ...readMemory(options, problems),
    stateDir: options.stateDir === undefined ? undefined : problems.text('stateDir', options.stateDir),
    firstStart: problems.boolean('firstStart', options.firstStart ?? false),
    drainMs: problems.integer('drainMs', options.drainMs ?? 10_000, 0),
    ...readBounds(options, problems),
    production: problems.boolean('production', options.production ?? process.env.NODE_ENV === 'production'),
  };
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
  const text: unknown = options.address ?? (token === undefined ? '127.0.0.1:8080' : ':8080');
  const address = typeof text === 'string' ? parseBindAddress(text) : undefined;
  if (address === undefined) {
    problems.add('address', 'host:port, [ipv6]:port or :port with a port up to 65535', text);
    return { host: undefined, port: 0 };
  }
  const open = problems.boolean('allowInsecurePublicBind', options.allowInsecurePublicBind ?? false);
  if (!open && token === undefined && !isLoopback(address.host)) {
    problems.add(
      'address',
      'a loopback address unless authToken is set or allowInsecurePublicBind is true',
      text,
    );
  }
  return address;
}

function readLeases(options: ServerOptions, problems: Problems) {
  const minLeaseMs = problems.integer('minLeaseMs', options.minLeaseMs ?? 1, 1);
  const maxLeaseMs = problems.integer('maxLeaseMs', options.maxLeaseMs ?? 60_000, ANY);
  const defaultLeaseMs = problems.integer('defaultLeaseMs', options.defaultLeaseMs ?? 8_000, ANY);
  if (maxLeaseMs > 0 && minLeaseMs > maxLeaseMs)
    problems.add('minLeaseMs', `at most maxLeaseMs, ${maxLeaseMs}`, minLeaseMs);
  if (maxLeaseMs > 0 && defaultLeaseMs > maxLeaseMs) {
    problems.add('defaultLeaseMs', `at most maxLeaseMs, ${maxLeaseMs}`, defaultLeaseMs);
  }
  if (defaultLeaseMs > 0 && defaultLeaseMs < minLeaseMs) {
    problems.add('defaultLeaseMs', `at least minLeaseMs, ${minLeaseMs}`, defaultLeaseMs);
  }
  return { defaultLeaseMs, minLeaseMs, maxLeaseMs };
}

function readRateLimit(limit: unknown, problems: Problems): ServerSettings['rateLimit'] {
  if (limit === false) return undefined;
  if (limit !== undefined && (typeof limit !== 'object' || limit === null)) {
    problems.add('rateLimit', 'false or { rps, burst }', limit);
    return undefined;
  }
  const { rps, burst, ...others } = (limit ?? {}) as { rps?: unknown; burst?: unknown };
  problems.unknown('rateLimit', others, ['rps', 'burst']);
  const wanted = problems.integer('rateLimit.rps', rps ?? 1_000, ANY);
  const effective = wanted > 0 ? wanted : FALLBACK_RPS;
  const size = problems.integer('rateLimit.burst', burst ?? 2_000, ANY);
  return { rps: effective, burst: size > 0 ? size : effective * 2 };
}

function readMemory(options: ServerOptions, problems: Problems) {
  const entries = problems.integer('idempotencyEntries', options.idempotencyEntries ?? DEFAULT_ENTRIES, ANY);
  problems.integer('shards', options.shards ?? 1_024, 0);
  return {
    idempotencyEntries: entries > 0 ? entries : DEFAULT_ENTRIES,
    idempotencyTtlMs: problems.integer('idempotencyTtlMs', options.idempotencyTtlMs ?? 3_600_000, ANY),
  };
}

function readBounds(options: ServerOptions, problems: Problems) {
  return {
    maxSessions: problems.integer('maxSessions', options.maxSessions ?? MAX_SESSIONS, 1),
    maxWaiters: problems.integer('maxWaiters', options.maxWaiters ?? MAX_WAITERS, 1),
    maxWaitersPerKey: problems.integer(
      'maxWaitersPerKey',
      options.maxWaitersPerKey ?? MAX_WAITERS_PER_KEY,
      1,
    ),
    maxLocksPerSession: problems.integer(
      'maxLocksPerSession',
      options.maxLocksPerSession ?? MAX_LOCKS_PER_SESSION,
      1,
    ),
    maxConnections: problems.integer('maxConnections', options.maxConnections ?? MAX_CONNECTIONS, 1),
  };
}

/** Without a directory the only safe length of a quarantine is the configured maximum; there must be one then. */
function checkRestart(
  { production, stateDir, firstStart, maxLeaseMs }: ServerSettings,
  problems: Problems,
): void {
  if (production && stateDir === undefined && !firstStart && maxLeaseMs <= 0) {
    problems.add(
      'maxLeaseMs',
      'positive in production without stateDir, or a restart could not know how long to wait',
      maxLeaseMs,
    );
  }
}
