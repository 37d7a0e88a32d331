import {
  ENTER_SECTION,
  formatKey,
  isLockError,
  type HoldOptions,
  type LockHandle,
  type LockKey,
  type LockLostError,
} from '../../core/index.js';
import { Belief } from './belief-ledger.js';
import type { Task } from './plan.js';
import type { SimClient } from './sim-client.js';

/** Connecting, a grace for a silent server, and the way there and back. */
const ANSWER_WITHIN_MS = 6_000;

/** A renewal tells of a revoke at the latest; it may take a few on a bad line. */
const HEARS_IN_LEASES = 3;

/** One task of a client, done as good code does it. */
export class TaskRun {
  private readonly calledAtMs: number;
  private readonly terms: HoldOptions;

  constructor(
    private readonly client: SimClient,
    private readonly task: Task,
  ) {
    this.calledAtMs = this.world.stage.timeline.nowMs;
    this.terms = termsOf(task);
  }

  private get world(): SimClient['world'] {
    return this.client.world;
  }

  private get name(): string {
    return this.client.node.name;
  }

  /** Never rejects. */
  async run(): Promise<void> {
    const { task, client, world } = this;
    const { plan } = world.stage;
    // Counted from the call, or from the end of all faults: in between, stopped clocks and dead servers may hold it up.
    const allowedMs = task.waitMs * 1.05 + ANSWER_WITHIN_MS + 2 * plan.ttlMs;
    client.waiting.set(task.id, Math.max(this.calledAtMs, plan.calmFromMs) + allowedMs);
    this.note(`asks for ${formatKey(task.key)} (task ${task.id}), waiting up to ${task.waitMs} ms`);
    if (task.section === true) await this.inSection();
    else await this.byHand();
  }

  private async byHand(): Promise<void> {
    const { task, client } = this;
    let lock: LockHandle | undefined;
    await this.refusable(async (signal) => {
      const options = { ...this.terms, ...signal };
      if (task.waitMs === 0) lock = await client.klock.tryAcquire(task.key, options);
      else lock = await client.klock.acquire(task.key, { ...options, waitMs: task.waitMs });
    }, task.abortMs);
    const belief = this.answered(lock);
    if (belief === undefined) return void (await lock?.release());
    await this.work(belief);
    this.note(`releases task ${task.id}`);
    const released = belief.lock.release();
    this.world.beliefs.end(belief);
    const outcome = await released;
    this.note(`has released task ${task.id}: ${outcome}`);
  }

  /** As `withLock` and `@Locked` do it. */
  private async inSection(): Promise<void> {
    const { task, client } = this;
    const { klock } = client;
    const work = async (lock: LockHandle): Promise<void> => {
      const belief = this.answered(lock);
      if (belief === undefined) return;
      await this.work(belief);
      // From here on the section gives it back.
      this.world.beliefs.end(belief);
    };
    await this.refusable(async (signal) => {
      const options = { ...this.terms, waitMs: task.waitMs, ...signal };
      if (task.atLeastMs === undefined) return await klock.withLock(task.key, options, work);
      const section = await klock[ENTER_SECTION](task.key, { ...options, atLeastMs: task.atLeastMs });
      await section.run(() => work(section.handle));
      await section.leave();
    }, task.abortMs);
    if (client.waiting.has(task.id)) this.answered(undefined);
  }

  /** The answer has come; the belief in what it brought. */
  private answered(lock: LockHandle | undefined): Belief | undefined {
    const { task, client, world } = this;
    client.waiting.delete(task.id);
    if (lock !== undefined) this.checkBorn(lock);
    if (lock?.held !== true) {
      this.note(`does not get task ${task.id}`);
      return undefined;
    }
    const belief = new Belief(client.node, lock, this.calledAtMs, world.stage.timeline.nowMs);
    this.note(`holds ${formatKey(lock.key)} with fence ${lock.fence} (task ${task.id})`);
    world.beliefs.begin(belief);
    this.endAtLoss(belief, lock);
    return belief;
  }

  /** A grant that came after its time is given back, never handed out (design D2). */
  private checkBorn(lock: LockHandle): void {
    const why: unknown = lock.held ? undefined : lock.signal.reason;
    if (isLockError(why, 'LOCK_LOST') && (why as LockLostError).reason === 'expired')
      this.world.report('I1', `${this.name} was handed ${formatKey(lock.key)} after its deadline`);
  }

  private endAtLoss(belief: Belief, lock: LockHandle): void {
    lock.signal.addEventListener('abort', () => {
      this.note(`loses task ${this.task.id}: ${String(lock.signal.reason)}`);
      if (belief.lock === lock) this.world.beliefs.end(belief);
    });
  }

  private async work(belief: Belief): Promise<void> {
    const { holdMs, writes, extend, again, also, revoke } = this.task;
    for (let step = 0; step <= writes; step++) {
      await this.pass(holdMs / (writes + 1));
      if (step === 0 && extend !== undefined) void this.extend(belief.lock, extend);
      if (step === 0 && again !== undefined) await this.takeAgain(belief, again);
      if (step === 0 && also !== undefined) await this.besides(also);
      if (step === 0 && revoke === true) await this.revoke(belief);
      if (step < writes) this.write(belief);
    }
  }

  /** A second lock under the first. Nobody puts keys in order here: what waits crosswise has to end by its own bound. */
  private besides(key: LockKey): Promise<void> {
    const { id, client, atMs, ttlMs, holdMs } = this.task;
    const plain = { client, atMs, key, ttlMs, writes: 1, waitMs: ttlMs, holdMs: holdMs / 4 };
    return new TaskRun(this.client, { ...plain, id: id + 0.5 }).run();
  }

  /** By an operator who read its fence; then it goes on until it is told to stop, as it must be. */
  private async revoke({ key, lock }: Belief): Promise<void> {
    const { plan, timeline } = this.world.stage;
    const { fence } = lock;
    let ended = 0;
    await this.refusable(async () => {
      const operator = this.world.someoneElse(this.client).klock;
      ended = (await operator.revoke(key, { fence })).endedCount;
    });
    // That was another process. This one goes on if it runs, later if it is stopped, and never if it is dead.
    await new Promise<void>((resolve) => this.client.node.deliver(resolve));
    this.note(`task ${this.task.id} was revoked: ${ended}`);
    // The six calls have no word for it: their clients find out when they release.
    if (ended === 0 || plan.store.sixCalls) return;
    const untilMs = Math.max(timeline.nowMs, plan.calmFromMs) + HEARS_IN_LEASES * plan.ttlMs;
    while (lock.held && timeline.nowMs <= untilMs) await this.pass(plan.ttlMs / 4);
    if (lock.held) this.world.report('I7', `${this.name} never heard that its fence ${fence} was revoked`);
  }

  private async extend(lock: LockHandle, extend: true | number): Promise<void> {
    await this.refusable(() => lock.extend(extend === true ? undefined : extend));
  }

  /** Shared with the lock it is taken under. If that one is lost it has to be asked for as by anybody, and is given back. */
  private async takeAgain(belief: Belief, key: LockKey): Promise<void> {
    const outer = belief.lock;
    const owner = this.task.section === true ? {} : { owner: outer };
    let inner: LockHandle | undefined;
    await this.refusable(async () => {
      inner = await this.client.klock.tryAcquire(key, { ...this.terms, ...owner, reentry: 'count' });
    });
    if (inner === undefined) return;
    if (inner.fence === outer.fence) return this.countDown(belief, inner);
    if (outer.held) this.world.report('I1', `${belief.name} was taken again as fence ${inner.fence}`);
    await inner.release();
  }

  /** A grant ends with the last of its handles. */
  private async countDown(belief: Belief, inner: LockHandle): Promise<void> {
    const outer = belief.lock;
    await this.pass(this.task.holdMs / 4);
    if (this.task.againLast !== true || this.task.section === true) {
      await inner.release();
      return;
    }
    belief.lock = inner;
    this.endAtLoss(belief, inner);
    await outer.release();
    if (!inner.held && !inner.signal.aborted)
      this.world.report('I9', `${belief.name} ended with the first of two handles`);
  }

  /** As good code does: it looks, and the resource looks at the fence, since the write may travel for long. */
  private write({ key, lock, endedAtMs, revoked }: Belief): void {
    const { world, client } = this;
    if (!lock.held) return;
    const { fence } = lock;
    if (endedAtMs < Infinity && !revoked)
      world.report('I1', `${this.name}'s lock with fence ${fence} came back to life`);
    world.stage.network.send(client.node, world.resourceNode, client.pipe, () => {
      // The level is that of the grant, whatever was taken under it (design D6).
      void world.resource.accept(key, fence).then((accepted) => world.wrote(key, fence, accepted));
    });
  }

  private async pass(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => this.client.node.clock.after(ms, resolve));
  }

  /** A lock error is an answer; any other is a finding. */
  private async refusable(
    call: (signal: { readonly signal?: AbortSignal }) => Promise<void>,
    abortMs?: number,
  ): Promise<void> {
    const abort = new AbortController();
    const { clock } = this.client.node;
    const timer = abortMs === undefined ? undefined : clock.after(abortMs, () => abort.abort());
    try {
      await call(abortMs === undefined ? {} : { signal: abort.signal });
    } catch (error) {
      if (!isLockError(error)) this.world.report('crash', `task ${this.task.id} threw ${String(error)}`);
      this.note(`task ${this.task.id}: ${String(error)}`);
    } finally {
      timer?.cancel();
    }
  }

  private note(line: string): void {
    this.world.note(() => `${this.name} ${line}`);
  }
}

function termsOf({ ttlMs, renew, localTtlMs, maxHoldMs }: Task): HoldOptions {
  return {
    ttlMs,
    ...(renew === false && { renew }),
    ...(localTtlMs !== undefined && { localTtlMs }),
    ...(maxHoldMs !== undefined && { maxHoldMs }),
  };
}
