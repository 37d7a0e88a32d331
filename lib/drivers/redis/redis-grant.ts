import type { DriverGrant, KeptLease, LockKey } from '../../core/index.js';
import type { Sendings } from './sendings.js';

/** A grant and what is needed to renew it and give it back. */
export class RedisGrant implements DriverGrant {
  readonly granted = true;
  /** Length renewals ask for; changed by extend. */
  ttlMs: number;
  /** The last renewal's number (design D2). */
  private renewals = 0;

  constructor(
    readonly requestId: string,
    readonly key: LockKey,
    readonly token: string,
    readonly fence: bigint,
    readonly span: number,
    readonly lease: KeptLease,
    readonly tree: string,
    readonly sendings: Sendings,
    /** The link's epoch when it was granted. */
    readonly epoch: number,
    ttlMs: number,
  ) {
    this.ttlMs = ttlMs;
  }

  /** '' for an L1. */
  get l2(): string {
    return this.key[1] ?? '';
  }

  nextRenewal(): number {
    return ++this.renewals;
  }
}
