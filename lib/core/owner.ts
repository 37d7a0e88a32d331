import type { Hold } from './hold.js';
import { LATER } from './lock-driver.js';
import { keyCovers, keysConflict, type LockKey } from './lock-key.js';
import type { LockOwner } from './lock-handle.js';

/** An identity for bare handles: knows the grants taken under it (design D10). */
export class Owner implements LockOwner {
  private readonly holds = new Set<Hold>();

  constructor(
    readonly id: string,
    /** Owners mean nothing to another instance. @internal */
    readonly instance: object,
  ) {}

  add(hold: Hold): void {
    hold.owner = this;
    this.holds.add(hold);
  }

  drop(hold: Hold): void {
    this.holds.delete(hold);
  }

  /** The grant that already covers `key`, if any. */
  covering(key: LockKey): Hold | undefined {
    for (const hold of this.holds) if (keyCovers(hold.grant.key, key) && hold.held) return hold;
    return undefined;
  }

  /** A grant below `key` that an acquire of `key` would wait for: for itself. */
  conflicting(key: LockKey): Hold | undefined {
    for (const hold of this.holds) if (keysConflict(hold.grant.key, key) && hold.held) return hold;
    return undefined;
  }

  /** Releases whatever is still held. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.holds].map((hold) => givenBack(hold)));
  }
}

/** Until the store has answered. */
function givenBack(hold: Hold): Promise<unknown> {
  return new Promise((resolve) => {
    const outcome = hold.giveBack();
    if (outcome === LATER) hold.whenGivenBack({ givenBack: resolve });
    else resolve(outcome);
  });
}
