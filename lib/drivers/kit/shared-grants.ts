import { LinkedList, SlotMap, type DriverGrant, type KeptLease } from '../../core/index.js';
import type { SharedGrant } from './shared-grant.js';

/** The store's grants that this process holds, by the leases they rest on. */
export class SharedGrants {
  private readonly byLease = new SlotMap<LinkedList<SharedGrant>>();

  add(shared: SharedGrant): SharedGrant {
    const { id } = shared.base.lease;
    let ofLease = this.byLease.get(id);
    if (ofLease === undefined) this.byLease.set(id, (ofLease = new LinkedList()));
    ofLease.add(shared);
    return shared;
  }

  delete(shared: SharedGrant): void {
    const { list } = shared;
    if (list?.delete(shared) === true && list.size === 0) this.byLease.delete(shared.base.lease.id);
  }

  of(base: DriverGrant): SharedGrant | undefined {
    for (const shared of this.byLease.get(base.lease.id) ?? []) if (shared.base === base) return shared;
    return undefined;
  }

  /** Those of one lease, which are here no more. */
  takeAll(lease: KeptLease): readonly SharedGrant[] {
    // Another lease of the same id keeps its own.
    const taken = [...(this.byLease.get(lease.id) ?? [])].filter(({ base }) => base.lease === lease);
    for (const shared of taken) this.delete(shared);
    return taken;
  }
}
