import type { L1Node } from './lock-node.js';

/** At about 0.3 KB each; what is asked for again within so many keys finds its tree. */
const MAX_IDLE = 4_096;

/**
 * Trees with nobody in them, kept for whoever asks for them next: a key that is used again and again is not put into the
 * table and taken out for each lock. Bounded: the one that came first goes first.
 */
export class IdleTrees {
  /** A ring, once it is full. A tree that is in use again has left a gap. */
  private readonly ring: (L1Node | undefined)[] = [];
  private last = 0;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** @returns the tree that has to go for it, if any. */
  add(node: L1Node): L1Node | undefined {
    const slot = this.slot();
    const gone = this.ring[slot];
    this.ring[slot] = node;
    node.idleSlot = slot;
    if (gone === undefined) this.count++;
    return gone;
  }

  /** A key that comes and goes alone takes the place it has just left, and pushes nobody out. */
  private slot(): number {
    const { last, ring } = this;
    if (ring.length > 0 && ring[last] === undefined) return last;
    return (this.last = ring.length === 0 || last + 1 === MAX_IDLE ? 0 : last + 1);
  }

  /** It is in use again. */
  take(node: L1Node): void {
    if (node.idleSlot === undefined) return;
    this.ring[node.idleSlot] = undefined;
    node.idleSlot = undefined;
    this.count--;
  }
}
