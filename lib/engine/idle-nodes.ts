/** At about 0.3 KB each; a key that is asked for again within so many others finds its node. */
const MAX_IDLE = 4_096;

/** What stays in the table for a while after the last one has left it. */
export interface Idle {
  /** Where it stands among the idle. Undefined while somebody is in it, before, and once it had to go. */
  idleSlot: number | undefined;
}

/**
 * Nodes with nobody in them, kept for whoever asks for them next: a key that is used again and again is not put into the
 * table's maps and taken out for each lock. Bounded: the one that came first goes first.
 */
export class IdleNodes<N extends Idle> {
  /** A ring, once it is full. A node that is in use again has left a gap. */
  private readonly ring: (N | undefined)[] = [];
  private last = 0;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** @returns the node that has to go for it, if any. */
  add(node: N): N | undefined {
    const slot = this.slot();
    const gone = this.ring[slot];
    this.ring[slot] = node;
    node.idleSlot = slot;
    if (gone === undefined) this.count++;
    // The slot is another's now.
    else gone.idleSlot = undefined;
    return gone;
  }

  /** It is in use again, if it was idle. */
  take(node: N): void {
    if (node.idleSlot === undefined) return;
    this.ring[node.idleSlot] = undefined;
    node.idleSlot = undefined;
    this.count--;
  }

  /** A key that comes and goes alone takes the place it has just left, and pushes nobody out. */
  private slot(): number {
    const { last, ring } = this;
    if (ring.length > 0 && ring[last] === undefined) return last;
    return (this.last = ring.length === 0 || last + 1 === MAX_IDLE ? 0 : last + 1);
  }
}
