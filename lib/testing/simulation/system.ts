import type { Clock, LockDriver, LockKey, Random } from '../../core/index.js';
import type { EngineCommand, EngineStats, Outcome } from '../../engine/index.js';
import type { Network } from './network.js';
import type { ClientPlan, Plan } from './plan.js';
import type { SimNode } from './sim-node.js';
import type { Timeline } from './timeline.js';

/** Sees every decision of the store's engine, in order. */
export type EngineWitness = (command: EngineCommand, outcome: Outcome, nowMs: number) => void;

/** What a system under simulation is given. */
export interface Stage {
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly network: Network;
  readonly server: SimNode;
  readonly random: Random;
  readonly witness: EngineWitness;
  /** Adds a line to the story, where one is told. */
  readonly note: (line: () => string) => void;
}

/** A fenced resource: whether it takes a write. */
export interface SimResource {
  accept(key: LockKey, fence: bigint): Promise<boolean>;
}

/** A lock store, its clients and what lies between them, on clocks and a network that are handed in. */
export interface SimSystem {
  /** The store's process has just started, for the first time or again: what it kept on its disk is there. */
  startServer(): void;
  /** The process was killed a moment ago; connections break, quietly or not. */
  serverKilled(quiet: boolean): void;
  /** Ends in order; resolves when the process is done. */
  drainServer(limitMs: number): Promise<void>;
  /** The driver of a new client process. */
  makeDriver(node: SimNode, plan: ClientPlan, random: Random): LockDriver;
  /** Its connections break. */
  reset(node: SimNode, quiet: boolean): void;
  /** What this process writes piles up until then. */
  slow(node: SimNode, untilMs: number): void;
  makeResource(clock: Clock): SimResource;
  stats(): EngineStats | undefined;
}

export type SystemFactory = (stage: Stage) => SimSystem;
