import type { Clock } from '../../core/index.js';
import { hashSlot, type RedisLink } from '../../redis-client/index.js';
import type { Answer } from './answer.js';
import { Lane, type LaneHost } from './lane.js';
import type { Operation, Question } from './operations.js';
import type { StoreTime } from './store-time.js';

/** What every script call says of its client; ARGV 2 to 4 of scripts/shared.lua. */
export interface CallHeader {
  readonly channel: string;
  readonly label: string;
  readonly fencing: 'required' | 'best-effort';
}

/** What the calls tell as they go. */
export interface CallListener {
  /** Waiters of this client that can go now. */
  woken(ids: string): void;
  /** Redis answered, or did not. */
  reachable(isReachable: boolean, cause?: unknown): void;
}

/**
 * Sends operations to Redis. Those of one turn that go to the same slot travel together; on a single node all of
 * them do. How many calls are under way is bounded, and what could not be sent is known not to have been.
 */
export class ScriptCalls implements LaneHost {
  private readonly lanes = new Map<number, Lane>();
  private readonly listening: Disposable;

  constructor(
    readonly link: RedisLink,
    readonly clock: Clock,
    readonly time: StoreTime,
    readonly header: CallHeader,
    readonly listener: CallListener,
  ) {
    this.listening = link.onChange(() => {
      for (const lane of [...this.lanes.values()]) lane.linkChanged();
    });
  }

  /** Tells the operation of its answer at the latest at `deadlineMs` of the monotonic clock. */
  send<R>(operation: Operation<R>, deadlineMs: number): void {
    this.lane(this.slotOf(operation.tree)).send(operation, deadlineMs);
  }

  /** {@link send} with a promise, which never rejects. */
  ask<R>(question: Question<R>, deadlineMs: number): Promise<Answer<R>> {
    return new Promise((resolve) => this.send({ ...question, settled: resolve }, deadlineMs));
  }

  /** The server a name goes to. Where the link cannot tell, each slot counts as one of its own. */
  nodeOf(tree: string): string {
    const slot = this.slotOf(tree);
    return this.link.nodeOf(slot) || `slot:${slot}`;
  }

  idle(lane: Lane): void {
    // A Cluster has 16,384 of them; anywhere else there is one, and it is kept.
    if (this.link.topology === 'cluster' && this.lanes.get(lane.slot) === lane) this.lanes.delete(lane.slot);
  }

  stop(): void {
    this.listening[Symbol.dispose]();
    for (const lane of [...this.lanes.values()]) lane.stop();
  }

  private slotOf(tree: string): number {
    return this.link.topology === 'cluster' ? hashSlot(this.link.keyPrefix + tree) : 0;
  }

  private lane(slot: number): Lane {
    let lane = this.lanes.get(slot);
    if (lane === undefined) this.lanes.set(slot, (lane = new Lane(slot, this)));
    return lane;
  }
}
