import type {
  Clock,
  DriverGrant,
  DriverHost,
  DriverSettings,
  KeptLease,
  LeaseTerms,
  LockKey,
  LossReason,
  Random,
  ServerChange,
} from '../../core/index.js';

/** The local table, as far as ends concern it. */
export interface LocalGrants {
  /** A grant of the store as its holder in this process knows it. */
  asHeld(grant: DriverGrant): DriverGrant;
  /** The next of this process may ask the store. */
  grantOver(grant: DriverGrant): void;
  leaseOver(lease: KeptLease): void;
}

/** The host a wrapped driver sees: ends of leases and grants pass through the local table on their way up. */
export class HandoverHost implements DriverHost {
  constructor(
    private readonly outer: DriverHost,
    private readonly table: LocalGrants,
  ) {}

  get clock(): Clock {
    return this.outer.clock;
  }

  get random(): Random {
    return this.outer.random;
  }

  get settings(): DriverSettings {
    return this.outer.settings;
  }

  openLease(terms: LeaseTerms): KeptLease {
    return this.outer.openLease(terms);
  }

  endLease(lease: KeptLease, reason: LossReason, code: string, change?: ServerChange): void {
    // The holder is told first, then its successors in this process ask the store.
    this.outer.endLease(lease, reason, code, change);
    this.table.leaseOver(lease);
  }

  endGrant(grant: DriverGrant, reason: LossReason, code: string): void {
    this.outer.endGrant(this.table.asHeld(grant), reason, code);
    this.table.grantOver(grant);
  }

  handedOver(key: LockKey): void {
    this.outer.handedOver(key);
  }

  storeState(state: 'available' | 'unavailable', cause?: unknown): void {
    this.outer.storeState(state, cause);
  }

  warn(code: string, message: string, cause?: unknown): void {
    this.outer.warn(code, message, cause);
  }
}
