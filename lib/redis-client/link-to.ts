import { optionError } from '../core/index.js';
import type { RedisClientLike } from './client-like.js';
import { IoredisClusterLink, IoredisLink } from './ioredis-link.js';
import { NodeRedisLink } from './node-redis-link.js';
import type { RedisLink } from './redis-link.js';

const EXPECTED =
  'a client of ioredis (Redis, Cluster) or node-redis (createClient, createSentinel, createCluster)';

/** Whether a value looks like a Redis client klock can work with. */
export function isRedisClient(value: unknown): value is RedisClientLike {
  return kindOf(value) !== undefined;
}

/**
 * Recognises a client by what it can do; contacts nothing.
 * @throws InvalidOptionError for anything else.
 */
export function linkTo(client: RedisClientLike): RedisLink {
  const kind = kindOf(client);
  switch (kind) {
    case 'ioredis':
      return new IoredisLink(client);
    case 'ioredis-cluster':
      return new IoredisClusterLink(client);
    case 'single':
    case 'sentinel':
    case 'cluster':
      return new NodeRedisLink(client, kind);
    case undefined:
      throw optionError('redis', EXPECTED, client);
  }
}

function kindOf(
  client: unknown,
): 'ioredis' | 'ioredis-cluster' | 'single' | 'sentinel' | 'cluster' | undefined {
  if (typeof client !== 'object' || client === null) return undefined;
  const has = (name: string): boolean => typeof (client as Record<string, unknown>)[name] === 'function';
  if (!has('on')) return undefined;
  if (has('evalsha') && has('call') && has('duplicate')) return has('nodes') ? 'ioredis-cluster' : 'ioredis';
  if (!has('evalSha') || !has('subscribe') || !('isOpen' in client)) return undefined;
  if (has('acquire') && has('getMasterNode')) return 'sentinel';
  if (!has('duplicate')) return undefined;
  return has('nodeClient') ? 'cluster' : 'single';
}
