import {
  createKlock,
  formatKey,
  isLockError,
  type KlockInstance,
  type LockHandle,
  type LockLostError,
} from '../../core/index.js';
import { Belief, type BeliefLedger } from './belief-ledger.js';
import type { Report } from './finding.js';
import type { Pipe } from './network.js';
import type { Task } from './plan.js';
import type { SimNode } from './sim-node.js';
import type { SimResource, SimSystem, Stage } from './system.js';

/** What clients of one run share. */
export interface ClientWorld {
  readonly stage: Stage;
  readonly system: SimSystem;
  readonly beliefs: BeliefLedger;
  readonly resource: SimResource;
  readonly resourceNode: SimNode;
  readonly report: Report;
  readonly note: (line: () => string) => void;
  readonly wrote: (lock: LockHandle, accepted: boolean) => void;
}

/** What became of a task. */
export type TaskEnd = 'held' | 'refused';

/** One client process: a Klock of the shipped code, and a program that uses it. */
export class SimClient {
  readonly klock: KlockInstance;
  /** Tasks that were begun and are not answered, with the true time by which they must be. */
  readonly waiting = new Map<number, number>();
  private readonly pipe: Pipe = { lastMs: 0 };
  answered = 0;

  constructor(
    private readonly world: ClientWorld,
    readonly node: SimNode,
    index: number,
  ) {
    const { stage, system } = world;
    const plan = stage.plan.clients[index] as Stage['plan']['clients'][number];
    const random = stage.random;
    this.klock = createKlock({
      driver: system.makeDriver(node, plan, random),
      ttlMs: stage.plan.ttlMs,
      handover: plan.handover,
      clock: node.clock,
      random,
    });
  }

  /** Never rejects. */
  async run(task: Task): Promise<void> {
    const { world, node } = this;
    const { timeline, plan } = world.stage;
    const calledAtMs = timeline.nowMs;
    // Counted from the call, or from the end of all faults: in between, stopped clocks and dead servers may hold it up.
    const allowedMs = task.waitMs * 1.05 + ANSWER_WITHIN_MS + 2 * plan.ttlMs;
    this.waiting.set(task.id, Math.max(calledAtMs, plan.calmFromMs) + allowedMs);
    world.note(
      () => `${node.name} asks for ${formatKey(task.key)} (task ${task.id}), waiting up to ${task.waitMs} ms`,
    );
    const lock = await this.ask(task);
    this.waiting.delete(task.id);
    this.answered++;
    if (lock !== undefined) this.checkBorn(lock);
    if (lock?.held !== true) {
      world.note(() => `${node.name} does not get task ${task.id}`);
      await lock?.release();
      return;
    }
    const belief = new Belief(node, lock, calledAtMs, timeline.nowMs);
    world.note(() => `${node.name} holds ${formatKey(task.key)} with fence ${lock.fence} (task ${task.id})`);
    world.beliefs.begin(belief);
    await this.hold(task, belief);
  }

  /** A grant that came after its time is given back, never handed out (design D2). */
  private checkBorn(lock: LockHandle): void {
    const why: unknown = lock.held ? undefined : lock.signal.reason;
    if (isLockError(why, 'LOCK_LOST') && (why as LockLostError).reason === 'expired')
      this.world.report('I1', `${this.node.name} was handed ${formatKey(lock.key)} after its deadline`);
  }

  private async ask(task: Task): Promise<LockHandle | undefined> {
    const { waitMs, ttlMs, key, abortMs } = task;
    const abort = new AbortController();
    const timer = abortMs === undefined ? undefined : this.node.clock.after(abortMs, () => abort.abort());
    const signal = abortMs === undefined ? undefined : { signal: abort.signal };
    try {
      if (waitMs === 0) return await this.klock.tryAcquire(key, { ttlMs, ...signal });
      return await this.klock.acquire(key, { ttlMs, waitMs, ...signal });
    } catch (error) {
      if (!isLockError(error)) this.world.report('crash', `acquire threw ${String(error)}`);
      this.world.note(() => `task ${task.id}: ${String(error)}`);
      return undefined;
    } finally {
      timer?.cancel();
    }
  }

  private async hold({ id, holdMs, writes }: Task, belief: Belief): Promise<void> {
    const { world, node } = this;
    const { lock } = belief;
    lock.signal.addEventListener('abort', () => {
      world.note(() => `${node.name} loses task ${id}: ${String(lock.signal.reason)}`);
      world.beliefs.end(belief);
    });
    for (let step = 0; step <= writes; step++) {
      const pauseMs = holdMs / (writes + 1);
      if (pauseMs > 0) await new Promise<void>((resolve) => node.clock.after(pauseMs, resolve));
      if (step < writes) this.write(belief);
    }
    world.note(() => `${node.name} releases task ${id}`);
    const released = lock.release();
    world.beliefs.end(belief);
    const outcome = await released;
    world.note(() => `${node.name} has released task ${id}: ${outcome}`);
  }

  /** As good code does: it looks, and the resource looks at the fence, since the write may travel for long. */
  private write({ lock, endedAtMs }: Belief): void {
    const { world, node } = this;
    if (!lock.held) return;
    if (endedAtMs < Infinity)
      world.report('I1', `${node.name}'s lock with fence ${lock.fence} came back to life`);
    const { key, fence } = lock;
    world.stage.network.send(node, world.resourceNode, this.pipe, () => {
      void world.resource.accept(key, fence).then((accepted) => world.wrote(lock, accepted));
    });
  }
}

/** Connecting, a grace for a silent server, and the way there and back. */
const ANSWER_WITHIN_MS = 6_000;
