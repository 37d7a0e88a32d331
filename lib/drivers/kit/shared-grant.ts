import {
  msUntil,
  type DriverGrant,
  type GrantEnd,
  type Instant,
  type KeptLease,
  type Linked,
  type LinkedList,
  type LockKey,
} from '../../core/index.js';
import type { LocalWaiter } from './local-waiter.js';

/** A store's grant is passed on for this long after its answer was read: waiters elsewhere must not starve (design D13). */
const PASS_ON_MS = 20;

/** One grant of the store, and who in this process holds it now. */
export class SharedGrant implements Linked<SharedGrant> {
  list: LinkedList<SharedGrant> | undefined = undefined;
  before: SharedGrant | undefined = undefined;
  after: SharedGrant | undefined = undefined;
  /** The holder of the moment, as the front end knows it. */
  current: PassedGrant;
  private position = 0;
  private pinned = false;

  /** Made in the turn in which the store's answer was read. */
  constructor(
    /** As the store granted it. */
    readonly base: DriverGrant,
    public holder: LocalWaiter,
    /** Both clocks as read in that turn. */
    private readonly readAt: Instant,
  ) {
    this.current = new PassedGrant(this, base.fence);
  }

  /** As its first holder gets it. */
  firstFor(told: 'now' | 'later'): PassedGrant {
    if (told === 'now') this.current.decidedAt = this.readAt;
    return this.current;
  }

  /** From now on it only goes back to the store. */
  pin(): void {
    this.pinned = true;
  }

  /** Whether `next` may hold it without the store being asked: every condition read in this turn, in which it is `now`. */
  mayPassTo(next: LocalWaiter, now: Instant): boolean {
    const { request } = this.holder;
    return (
      !this.pinned &&
      this.position + 1 < this.base.span &&
      request.passable === true &&
      next.request.passable === true &&
      next.request.ttlMs === request.ttlMs &&
      next.request.signal?.aborted !== true &&
      now.monoMs - this.readAt.monoMs <= PASS_ON_MS &&
      this.hasTime(now)
    );
  }

  passTo(next: LocalWaiter): PassedGrant {
    this.position++;
    this.holder = next;
    this.current = new PassedGrant(this, this.base.fence + BigInt(this.position));
    return this.current;
  }

  /** At least half of the lease is left on both clocks, and no renewal is under way whose answer could say otherwise. */
  private hasTime(now: Instant): boolean {
    const { lease } = this.base;
    return lease.aliveAt(now) && !lease.busy && msUntil(lease.deadline, now) >= lease.ms / 2;
  }
}

/** A grant as one holder in this process has it: the store's token and lease, a fence of its own. */
export class PassedGrant implements DriverGrant {
  readonly granted = true;
  readonly span = 1;
  decidedAt: Instant | undefined = undefined;
  private ownEnd: GrantEnd | undefined = undefined;

  constructor(
    readonly shared: SharedGrant,
    readonly fence: bigint,
  ) {}

  /** That of the store's grant: whoever was passed it on asked nobody. */
  get requestId(): string {
    return this.shared.base.requestId;
  }

  get key(): LockKey {
    return this.shared.base.key;
  }

  get token(): string {
    return this.shared.base.token;
  }

  get lease(): KeptLease {
    return this.shared.base.lease;
  }

  pin(): void {
    this.shared.pin();
  }

  /** The store may have ended the grant before it was known to be this one's. */
  get ended(): GrantEnd | undefined {
    return this.ownEnd ?? this.shared.base.ended;
  }

  set ended(end: GrantEnd | undefined) {
    this.ownEnd = end;
  }
}
