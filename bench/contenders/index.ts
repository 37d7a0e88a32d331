import type { Contender } from './contender.js';

export type * from './contender.js';

const MODULES = {
  klock: () => import('./klock.js'),
  'klock-each-asks': () => import('./klock-each-asks.js'),
  'klock-idle': () => import('./klock-idle.js'),
  'klock-six-rpc': () => import('./klock-six-rpc.js'),
  'klock-locked': () => import('./klock-locked.js'),
  'klock-redis': () => import('./klock-redis.js'),
  'klock-etcd': () => import('./klock-etcd.js'),
  'echo-unary': () => import('./echo-unary.js'),
  'echo-stream': () => import('./echo-stream.js'),
  redlock: () => import('./redlock.js'),
  'redlock-best': () => import('./redlock-best.js'),
  'redis-semaphore': () => import('./redis-semaphore.js'),
  'redis-semaphore-best': () => import('./redis-semaphore-best.js'),
  murlock: () => import('./murlock.js'),
  'murlock-best': () => import('./murlock-best.js'),
  'nest-redlock': () => import('./nest-redlock.js'),
  'nest-redlock-best': () => import('./nest-redlock-best.js'),
  'etcd-transactions': () => import('./etcd-transactions.js'),
  'etcd3-lock': () => import('./etcd3-lock.js'),
} satisfies Record<string, () => Promise<{ contender: Contender }>>;

export type ContenderName = keyof typeof MODULES;

/** Loads a contender in the process that measures it. */
export async function loadContender(name: ContenderName): Promise<Contender> {
  return (await MODULES[name]()).contender;
}

/** The Redis libraries of a run, each with its defaults and with the best settings found. */
export const REDIS_LIBRARIES = [
  'redlock',
  'redlock-best',
  'redis-semaphore',
  'redis-semaphore-best',
  'murlock',
  'murlock-best',
  'nest-redlock',
  'nest-redlock-best',
] as const satisfies readonly ContenderName[];
