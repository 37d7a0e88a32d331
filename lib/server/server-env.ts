import { type LogSettings, resolveLogSettings } from './log-settings.js';
import { Problems } from './problems.js';
import { resolveServerOptions } from './server-settings.js';
import type { RateLimit, ServerOptions } from './server-options.js';

type Environment = Readonly<Record<string, string | undefined>>;
type Reader = (text: string) => unknown;

const whole: Reader = (text) => (/^[+-]?\d{1,15}$/.test(text.trim()) ? Number(text) : text);
const words = new Map<string, boolean>([
  ...['1', 't', 'true', 'yes', 'on'].map((word) => [word, true] as const),
  ...['0', 'f', 'false', 'no', 'off'].map((word) => [word, false] as const),
]);
const flag: Reader = (text) => words.get(text.trim().toLowerCase()) ?? text;
const plain: Reader = (text) => text;
const word: Reader = (text) => text.trim().toLowerCase();

/** Every variable, the option it sets, and how its text is read. A text that cannot be read stays a text and is refused with the rest. */
const VARIABLES: readonly (readonly [variable: string, option: string, read: Reader])[] = [
  ['LOCK_SERVER_ADDR', 'address', plain],
  ['LOCK_SERVER_SHARDS', 'shards', whole],
  ['LOCK_SERVER_DEFAULT_LEASE_MS', 'defaultLeaseMs', whole],
  ['LOCK_SERVER_MIN_LEASE_MS', 'minLeaseMs', whole],
  ['LOCK_SERVER_MAX_LEASE_MS', 'maxLeaseMs', whole],
  ['LOCK_SERVER_AUTH_TOKEN', 'authToken', plain],
  ['LOCK_SERVER_AUTH_ACCEPT_RAW', 'acceptRawToken', flag],
  ['LOCK_SERVER_ALLOW_INSECURE_BIND', 'allowInsecurePublicBind', flag],
  ['LOCK_SERVER_RATE_LIMIT_RPS', 'rateLimit.rps', whole],
  ['LOCK_SERVER_RATE_LIMIT_BURST', 'rateLimit.burst', whole],
  ['LOCK_SERVER_IDEMPOTENCY_ENTRIES', 'idempotencyEntries', whole],
  ['LOCK_SERVER_IDEMPOTENCY_TTL_MS', 'idempotencyTtlMs', whole],
  ['LOCK_SERVER_STATE_DIR', 'stateDir', plain],
  ['LOCK_SERVER_FIRST_START', 'firstStart', flag],
  ['LOCK_SERVER_DRAIN_MS', 'drainMs', whole],
  ['LOCK_SERVER_MAY_REVOKE', 'mayRevoke', flag],
  ['LOCK_SERVER_LOG_LEVEL', 'log.level', word],
  ['LOCK_SERVER_LOG_FORMAT', 'log.format', word],
  ['LOCK_SERVER_LOG_OUTPUT', 'log.output', plain],
  ['LOCK_SERVER_LOG_CONSOLE', 'log.console', flag],
  ['LOCK_SERVER_LOG_MAX_SIZE', 'log.maxSizeMb', whole],
  ['LOCK_SERVER_LOG_MAX_BACKUPS', 'log.maxBackups', whole],
  ['LOCK_SERVER_LOG_MAX_AGE', 'log.maxAgeDays', whole],
  ['LOCK_SERVER_LOG_COMPRESS', 'log.compress', flag],
];

/** A set but empty value of these is an error; everywhere else it counts as not set. */
const EMPTY_IS_WRONG = new Set(['LOCK_SERVER_LOG_OUTPUT', 'LOCK_SERVER_LOG_LEVEL', 'LOCK_SERVER_LOG_FORMAT']);

/**
 * Reads the `LOCK_SERVER_*` variables. `LOCK_SERVER_RATE_LIMIT_RPS=off` switches the limit off.
 * @throws InvalidOptionError that lists every variable with a wrong value.
 */
export function serverOptionsFromEnv(env: Environment): ServerOptions {
  const options: Record<string, unknown> & { log: LogSettings } = { log: {} };
  for (const [variable, option, read] of VARIABLES) {
    const text = env[variable];
    if (text === undefined || (text === '' && !EMPTY_IS_WRONG.has(variable))) continue;
    put(options, option.split('.'), read(text));
  }
  options.production = env.NODE_ENV === 'production';
  if (env.LOCK_SERVER_RATE_LIMIT_RPS?.trim().toLowerCase() !== 'off') return check(options);
  // A wrong burst is told although it has no effect.
  check({ ...options, rateLimit: { ...(options.rateLimit as RateLimit), rps: 0 } });
  return { ...options, rateLimit: false };
}

function put(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) target[name] = value;
  else put((target[name] ??= {}) as Record<string, unknown>, rest, value);
}

function check(options: ServerOptions & { readonly log: LogSettings }): ServerOptions {
  const variableOf = new Map(VARIABLES.map(([variable, option]) => [option, variable]));
  const problems = new Problems((option) => variableOf.get(option) ?? option);
  resolveLogSettings(options.log, problems);
  resolveServerOptions(options, problems);
  return options;
}
