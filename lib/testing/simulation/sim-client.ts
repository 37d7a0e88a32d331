import { createKlock, type KlockInstance, type LockKey } from '../../core/index.js';
import type { BeliefLedger } from './belief-ledger.js';
import type { Report } from './finding.js';
import type { Pipe } from './network.js';
import type { Task } from './plan.js';
import type { SimNode } from './sim-node.js';
import type { SimResource, SimSystem, Stage } from './system.js';
import { TaskRun } from './task-run.js';

/** What clients of one run share. */
export interface ClientWorld {
  readonly stage: Stage;
  readonly system: SimSystem;
  readonly beliefs: BeliefLedger;
  readonly resource: SimResource;
  readonly resourceNode: SimNode;
  readonly report: Report;
  /** Another client than this one, where there is one. */
  readonly someoneElse: (client: SimClient) => SimClient;
  readonly note: (line: () => string) => void;
  readonly wrote: (key: LockKey, fence: bigint, accepted: boolean) => void;
}

/** One client process: a Klock of the shipped code, and a program that uses it. */
export class SimClient {
  readonly klock: KlockInstance;
  /** Tasks that were begun and are not answered, with the true time by which they must be. */
  readonly waiting = new Map<number, number>();
  readonly pipe: Pipe = { lastMs: 0 };

  constructor(
    readonly world: ClientWorld,
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
  run(task: Task): Promise<void> {
    return new TaskRun(this, task).run();
  }
}
