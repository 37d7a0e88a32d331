export type { Finding, Invariant } from './finding.js';
export { Network, type Noise, type Pipe } from './network.js';
export {
  planFor,
  type ClientPlan,
  type Fault,
  type Plan,
  type PlanOptions,
  type StorePlan,
  type Task,
} from './plan.js';
export { runPlan, type RunOptions, type RunResult } from './run-plan.js';
export { SeededRandom } from './seeded-random.js';
export { SimClock, type ClockShape } from './sim-clock.js';
export { SimNode } from './sim-node.js';
export type { EngineWitness, SimResource, SimSystem, Stage, SystemFactory } from './system.js';
export { Timeline } from './timeline.js';
export { shrink, type ShrinkOptions } from './shrink.js';
export { explain, simulate, type Simulated, type SimulateOptions, type Totals } from './simulate.js';
