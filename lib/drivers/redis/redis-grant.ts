import type { DriverGrant, KeptLease, LockKey } from '../../core/index.js';
import type { Sendings } from './sendings.js';

/** What a grant is made of. */
export interface GrantFacts {
  readonly requestId: string;
  readonly key: LockKey;
  readonly token: string;
  readonly fence: bigint;
  readonly span: number;
  readonly lease: KeptLease;
  readonly tree: string;
  readonly sendings: Sendings;
  /** The link's epoch when it was granted. */
  readonly epoch: number;
  readonly ttlMs: number;
}

/** A grant and what is needed to renew it and give it back. */
export class RedisGrant implements DriverGrant {
  readonly granted = true;
  readonly requestId: string;
  readonly key: LockKey;
  readonly token: string;
  readonly fence: bigint;
  readonly span: number;
  readonly lease: KeptLease;
  readonly tree: string;
  readonly sendings: Sendings;
  readonly epoch: number;
  /** Length renewals ask for; changed by extend. */
  ttlMs: number;
  /** The last renewal's number (design D2). */
  private renewals = 0;

  constructor(facts: GrantFacts) {
    this.requestId = facts.requestId;
    this.key = facts.key;
    this.token = facts.token;
    this.fence = facts.fence;
    this.span = facts.span;
    this.lease = facts.lease;
    this.tree = facts.tree;
    this.sendings = facts.sendings;
    this.epoch = facts.epoch;
    this.ttlMs = facts.ttlMs;
  }

  /** '' for an L1. */
  get l2(): string {
    return this.key[1] ?? '';
  }

  nextRenewal(): number {
    return ++this.renewals;
  }
}
