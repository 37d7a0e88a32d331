import {
  MAX_LABEL_BYTES,
  checkDuration,
  checkLabel,
  checkOneOf,
  optionError,
  refuseUnknown,
  utf8Length,
} from '../../core/index.js';
import { isRedisClient, type RedisClientLike } from '../../redis-client/index.js';

/** Put before every key unless told otherwise. */
export const DEFAULT_PREFIX = 'lock:';

/** More replicas than anybody has behind one primary. */
const MAX_REPLICAS = 100;

/** How many replicas must have a grant before it counts. */
export interface ReplicaOptions {
  /** At least this many, 1 or more. */
  readonly min: number;
  /** How long to wait for them; then the grant is taken back. The client's connection waits too. */
  readonly timeoutMs: number;
}

/** Options of the Redis driver. */
export interface RedisDriverOptions {
  /** Put before every key. Default `lock:`; may be empty. */
  readonly prefix?: string;
  /**
   * What happens when a fence counter in Redis is no number: `required` (default) refuses the lock with BACKEND_STATE;
   * `best-effort` starts the counter again from the time of the store and what this client has seen, with a warning.
   */
  readonly fencing?: 'required' | 'best-effort';
  /** What happens when Redis may evict keys, and so free held locks: `refuse` (default) or `warn`. */
  readonly eviction?: 'refuse' | 'warn';
  /** Waits for replicas after each grant (WAIT). Default: not. */
  readonly replicas?: ReplicaOptions;
  /** Names the store in `Klock-Fence`, where address and prefix are not the same everywhere. Default: both. */
  readonly storeName?: string;
}

/** The options, checked, with every default filled in. */
export interface ResolvedRedisOptions {
  readonly prefix: string;
  readonly fencing: 'required' | 'best-effort';
  readonly eviction: 'refuse' | 'warn';
  readonly replicas: ReplicaOptions | undefined;
  readonly storeName: string | undefined;
}

/** @throws InvalidOptionError naming the option and the value; nothing was contacted. */
export function resolveRedisOptions(
  client: RedisClientLike,
  options: RedisDriverOptions,
): ResolvedRedisOptions {
  if (!isRedisClient(client)) throw optionError('redis', 'a client of ioredis or node-redis', client);
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('redisDriver', options, ['prefix', 'fencing', 'eviction', 'replicas', 'storeName']);
  const { prefix, fencing, eviction, replicas, storeName } = options;
  return {
    prefix: prefix === undefined ? DEFAULT_PREFIX : checkPrefix(prefix),
    fencing: fencing === undefined ? 'required' : checkOneOf('fencing', ['required', 'best-effort'], fencing),
    eviction: eviction === undefined ? 'refuse' : checkOneOf('eviction', ['refuse', 'warn'], eviction),
    replicas: replicas === undefined ? undefined : checkReplicas(replicas),
    storeName: storeName === undefined ? undefined : checkLabel('storeName', storeName),
  };
}

function checkPrefix(prefix: unknown): string {
  if (prefix === '') return '';
  if (typeof prefix === 'string' && utf8Length(prefix) <= MAX_LABEL_BYTES && !/[\p{Cs}\p{Cc}]/u.test(prefix))
    return prefix;
  throw optionError(
    'prefix',
    `a string of at most ${MAX_LABEL_BYTES} bytes without control characters`,
    prefix,
  );
}

function checkReplicas(replicas: unknown): ReplicaOptions {
  if (typeof replicas !== 'object' || replicas === null)
    throw optionError('replicas', 'an object { min, timeoutMs }', replicas);
  refuseUnknown('replicas', replicas, ['min', 'timeoutMs']);
  const { min, timeoutMs } = replicas as Partial<Record<keyof ReplicaOptions, unknown>>;
  if (!Number.isInteger(min) || (min as number) < 1 || (min as number) > MAX_REPLICAS)
    throw optionError('replicas.min', `a whole number from 1 to ${MAX_REPLICAS}`, min);
  return { min: min as number, timeoutMs: checkDuration('replicas.timeoutMs', timeoutMs) };
}
