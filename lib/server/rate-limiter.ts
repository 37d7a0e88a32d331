import { isIPv6 } from 'node:net';
import { BUCKET_SWEEP_MS, IDLE_BUCKET_MS, MAX_RATE_BUCKETS } from './server-limits.js';

/** What `rps` of 0 or less means. */
export const FALLBACK_RPS = 200;

interface Bucket {
  tokens: number;
  seenMs: number;
}

/**
 * One token bucket for each key. Keys nobody used for two minutes are forgotten; beyond the bound the least recently
 * used one is, at the same cost however many there are.
 */
export class RateLimiter {
  /** Least recently used first: a Map keeps the order in which keys were put in. */
  private readonly buckets = new Map<string, Bucket>();
  private oldest = this.buckets.keys();
  private readonly rps: number;
  private readonly burst: number;
  private sweptMs = 0;

  constructor(
    rps: number,
    burst: number,
    private readonly maxBuckets = MAX_RATE_BUCKETS,
  ) {
    this.rps = rps > 0 ? rps : FALLBACK_RPS;
    this.burst = burst > 0 ? burst : this.rps * 2;
  }

  /** Keys remembered now. */
  get size(): number {
    return this.buckets.size;
  }

  /** Whether one more call of this key is within its rate; takes it off if so. */
  allow(key: string, nowMs: number): boolean {
    this.sweep(nowMs);
    const bucket = this.touch(key, nowMs);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  private touch(key: string, nowMs: number): Bucket {
    const known = this.buckets.get(key);
    const bucket = known ?? { tokens: this.burst, seenMs: nowMs };
    if (known !== undefined) this.buckets.delete(key);
    else if (this.buckets.size >= this.maxBuckets) this.dropOldest();
    bucket.tokens = Math.min(this.burst, bucket.tokens + ((nowMs - bucket.seenMs) / 1_000) * this.rps);
    bucket.seenMs = nowMs;
    this.buckets.set(key, bucket);
    return bucket;
  }

  /**
   * One iterator for all evictions: what it passed is deleted or was put in again behind it, so the next key is the
   * oldest. A new one each time would first walk over every slot that earlier deletions left empty.
   */
  private dropOldest(): void {
    let next = this.oldest.next();
    if (next.done === true) {
      this.oldest = this.buckets.keys();
      next = this.oldest.next();
    }
    if (next.done !== true) this.buckets.delete(next.value);
  }

  private sweep(nowMs: number): void {
    if (nowMs - this.sweptMs < BUCKET_SWEEP_MS) return;
    this.sweptMs = nowMs;
    for (const [key, bucket] of this.buckets) {
      if (nowMs - bucket.seenMs < IDLE_BUCKET_MS) return;
      this.buckets.delete(key);
    }
  }
}

/**
 * What calls of a peer are counted by: its address without the port, for IPv6 the /64 network, since one customer
 * commonly owns all of it. `unknown` where there is no address.
 */
export function peerKey(remoteAddress: string | undefined): string {
  if (remoteAddress === undefined || remoteAddress === '') return 'unknown';
  const host = unmapped(remoteAddress);
  return isIPv6(host) ? networkOf(host) : host;
}

/** An IPv4 address that arrived on an IPv6 socket. */
function unmapped(host: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(host)?.[1] ?? host;
}

function networkOf(address: string): string {
  const [head = '', tail = ''] = address.split('%')[0]!.split('::') as [string, string?];
  const start = head === '' ? [] : head.split(':');
  const end = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? Math.max(0, 8 - start.length - end.length) : 0;
  const groups = [...start, ...Array<string>(zeros).fill('0'), ...end];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, '').toLowerCase())
    .join(':')}::/64`;
}
