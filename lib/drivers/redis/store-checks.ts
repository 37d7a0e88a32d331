import { BackendStateError, type LockErrorFacts } from '../../core/index.js';
import type { ProbeResult } from './operations.js';
import type { ResolvedRedisOptions } from './redis-options.js';

/** What a probe found that a person should know, or that forbids locks on this server. */
export interface StoreVerdict {
  readonly refused: BackendStateError | undefined;
  readonly warnings: readonly (readonly [code: string, message: string])[];
}

/** Oldest Redis the script runs on: SET with PXAT is of that version. */
const OLDEST_VERSION = 6.2;

/** Judges a server by its probe (safety list 35; case B-047). */
export function judgeStore(
  probe: ProbeResult,
  address: string,
  options: ResolvedRedisOptions,
  facts: LockErrorFacts,
): StoreVerdict {
  const warnings: (readonly [string, string])[] = [];
  const problem = firstProblem(probe, address, options, warnings);
  if (probe.missing !== '') {
    warnings.push([
      'REDIS_NO_PUBLISH',
      `the Redis user at ${address} may not publish (${probe.missing}): waiters notice a release only when they ask again, up to a second later`,
    ]);
  }
  if (probe.role === '' || probe.evictionPolicy === '') {
    warnings.push([
      'REDIS_NOT_CHECKED',
      `the Redis user at ${address} may not run INFO: whether the server evicts keys or is a replica was not checked`,
    ]);
  }
  const refused =
    problem === undefined
      ? undefined
      : new BackendStateError(problem, { ...facts, code: 'BACKEND_MISCONFIGURED' });
  return { refused, warnings };
}

function firstProblem(
  { role, version, evictionPolicy, maxMemory }: ProbeResult,
  address: string,
  { eviction }: ResolvedRedisOptions,
  warnings: (readonly [string, string])[],
): string | undefined {
  if (role === 'slave') return `Redis at ${address} is a replica: locks need the primary`;
  if (version !== '' && Number.parseFloat(version) < OLDEST_VERSION)
    return `Redis at ${address} is version ${version}; ${OLDEST_VERSION} or newer is needed`;
  if (!mayEvict(evictionPolicy, maxMemory)) return undefined;
  const text = `Redis at ${address} may evict keys (maxmemory ${maxMemory}, maxmemory-policy ${evictionPolicy}) and so free locks that are held; set maxmemory-policy noeviction`;
  if (eviction === 'refuse') return `${text}, or pass eviction: 'warn'`;
  warnings.push(['REDIS_MAY_EVICT', text]);
  return undefined;
}

/** Every lock has an expiry, so the volatile policies evict it too. Without a memory limit nothing is evicted. */
function mayEvict(policy: string, maxMemory: string): boolean {
  return policy !== '' && policy !== 'noeviction' && maxMemory !== '0' && maxMemory !== '';
}
