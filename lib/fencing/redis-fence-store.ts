import {
  BackendStateError,
  LockUnavailableError,
  checkDuration,
  checkLabel,
  formatKey,
  quote,
  refuseUnknown,
  systemClock,
  type Clock,
  type FenceProof,
} from '../core/index.js';
import { linkTo, replyCode, type RedisClientLike, type RedisLink } from '../redis-client/index.js';
import { ACCEPT_SCRIPT } from './accept-script.js';
import {
  checkProof,
  checkStores,
  foreignFence,
  staleFence,
  storeNameOf,
  type FenceStore,
  type FenceStoreOptions,
} from './fence-store.js';
import { segmentText } from './key-text.js';
import { DEFAULT_KEEP_MS, FENCE_DIGITS, MAX_REDIS_L2_MARKS } from './limits.js';

export interface RedisFenceStoreOptions extends FenceStoreOptions {
  /** Put before every key. Default `klock:fence:`. */
  readonly prefix?: string;
  /**
   * How long marks are kept after the last write of their L1, in milliseconds, or Infinity. No write may stay under way
   * longer, in a queue for instance. Default 86,400,000: one day.
   */
  readonly keepMs?: number;
  /** How long Redis may take to answer. Default 2,000. */
  readonly timeoutMs?: number;
}

const OPTIONS = ['stores', 'prefix', 'keepMs', 'timeoutMs'];
const DEFAULT_TIMEOUT_MS = 2_000;

/**
 * Marks in Redis, shared by all processes that write the resource: one hash for each L1. Your client stays yours; disposing
 * the store only takes its listeners off it. Redis forgets what it had not replicated when it fails over.
 *
 * `accept` throws besides StaleFenceError: LockUnavailableError where Redis does not answer, BackendStateError where it refuses.
 * @throws InvalidOptionError; nothing was contacted.
 */
export function redisFenceStore(
  client: RedisClientLike,
  options: RedisFenceStoreOptions = {},
  clock: Clock = systemClock,
): FenceStore & Disposable {
  refuseUnknown('redisFenceStore', options, OPTIONS);
  const { prefix = 'klock:fence:', keepMs = DEFAULT_KEEP_MS, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const settings = {
    prefix: checkLabel('prefix', prefix),
    keepMs: keepMs === Infinity ? 0 : checkDuration('keepMs', keepMs),
    timeoutMs: checkDuration('timeoutMs', timeoutMs),
  };
  return new RedisFenceStore(checkStores(options.stores), settings, linkTo(client), clock);
}

interface Settings {
  readonly prefix: string;
  /** 0: for ever. */
  readonly keepMs: number;
  readonly timeoutMs: number;
}

class RedisFenceStore implements FenceStore {
  constructor(
    readonly stores: readonly string[] | undefined,
    private readonly settings: Settings,
    private readonly link: RedisLink,
    private readonly clock: Clock,
  ) {}

  async accept(given: FenceProof): Promise<void> {
    const proof = checkProof(given);
    const { key, fence } = proof;
    const store = storeNameOf(proof, this.stores);
    const { prefix, keepMs } = this.settings;
    const leaf = key.length === 1 ? '' : `2:${key[1]}`;
    const digits = fence.toString().padStart(FENCE_DIGITS, '0');
    const args = [digits, store, leaf, String(keepMs), String(MAX_REDIS_L2_MARKS)];
    const [verdict, fact] = await this.ask([prefix + segmentText(key[0])], args, proof);
    if (verdict === 'accepted') return;
    if (verdict === 'foreign') throw foreignFence(proof, quote(fact));
    if (verdict === 'stale' && fact !== undefined) throw staleFence(proof, BigInt(fact));
    throw new BackendStateError(`Redis answered ${quote(verdict)} for the fence of ${formatKey(key)}`, {
      key,
    });
  }

  [Symbol.dispose](): void {
    this.link.detach();
  }

  private async ask(
    keys: readonly string[],
    args: readonly string[],
    { key }: FenceProof,
  ): Promise<readonly (string | undefined)[]> {
    try {
      const reply: unknown = await this.within(this.link.run(ACCEPT_SCRIPT, keys, args));
      return Array.isArray(reply) ? reply.map(String) : [String(reply)];
    } catch (cause) {
      const message = `the fence of ${formatKey(key)} could not be checked in Redis: ${quote(cause instanceof Error ? cause.message : cause)}`;
      if (isPermanent(cause)) throw new BackendStateError(message, { key, cause });
      throw new LockUnavailableError(message, { key, cause });
    }
  }

  /** A client may keep a command for as long as it cannot connect. What is applied after that harms nobody: an equal fence passes. */
  private within<T>(answer: Promise<T>): Promise<T> {
    const { timeoutMs } = this.settings;
    return new Promise<T>((resolve, reject) => {
      const timer = this.clock.after(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)), {
        keepAlive: true,
      });
      void answer.finally(() => timer.cancel()).then(resolve, reject);
    });
  }
}

const PERMANENT = new Set(['ERR', 'WRONGTYPE', 'NOPERM', 'NOAUTH', 'WRONGPASS', 'CROSSSLOT']);

function isPermanent(cause: unknown): boolean {
  return PERMANENT.has(replyCode(cause) ?? '');
}
