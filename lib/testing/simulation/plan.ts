import type { LockKey } from '../../core/index.js';
import type { Noise } from './network.js';
import { SeededRandom } from './seeded-random.js';
import type { ClockShape } from './sim-clock.js';
import { burstsFor, extrasFor, revokedIn, type TaskExtras } from './task-extras.js';

/** One acquire, what is done while it is held, and its release. */
export interface Task extends TaskExtras {
  readonly id: number;
  readonly client: number;
  readonly atMs: number;
  readonly key: LockKey;
  /** 0 asks once. */
  readonly waitMs: number;
  readonly ttlMs: number;
  readonly holdMs: number;
  /** Writes to the resource, spread over the hold. */
  readonly writes: number;
  /** The caller gives up this long after the call. */
  readonly abortMs?: number;
}

/** One thing that goes wrong. Instants and spans in true milliseconds. */
export type Fault =
  | {
      readonly what: 'pause' | 'suspend';
      readonly who: string;
      readonly atMs: number;
      readonly forMs: number;
    }
  | {
      readonly what: 'cut';
      readonly who: string;
      readonly way: 'up' | 'down' | 'both';
      readonly atMs: number;
      readonly forMs: number;
    }
  /** Connections of a client break; `quiet`: nobody is told. */
  | { readonly what: 'reset'; readonly who: string; readonly quiet: boolean; readonly atMs: number }
  /** What a client, or the server, writes piles up. */
  | { readonly what: 'slow'; readonly who: string; readonly atMs: number; readonly forMs: number }
  | { readonly what: 'step-wall'; readonly who: string; readonly byMs: number; readonly atMs: number }
  /** The process dies; a client is replaced by another, the server starts again `forMs` later. */
  | {
      readonly what: 'kill';
      readonly who: string;
      readonly quiet: boolean;
      readonly atMs: number;
      readonly forMs: number;
    }
  /** The server is asked to end in order, waits for its clients this long, and starts again. */
  | { readonly what: 'drain'; readonly limitMs: number; readonly atMs: number; readonly forMs: number };

/** Settings of the store, drawn like everything else: now and then bounds so small that they are hit. */
export interface StorePlan {
  readonly clock: ClockShape;
  readonly maxWaiters: number;
  readonly maxLocksPerSession: number;
  readonly rememberedRequests: number;
  /** Speaks only the klock.v1 calls. */
  readonly sixCalls: boolean;
  readonly fenceBlock: bigint;
  readonly diskMs: number;
}

export interface ClientPlan {
  readonly clock: ClockShape;
  readonly handover: boolean;
  readonly idleSessionMs: number;
}

/** All that happens in one run, as data: what is left out of it can be seen to matter or not. */
export interface Plan {
  readonly seed: number;
  readonly durationMs: number;
  /** Faults and noise end here, so that what follows shows whether everything recovers. */
  readonly calmFromMs: number;
  readonly ttlMs: number;
  readonly noise: Noise;
  readonly store: StorePlan;
  readonly clients: readonly ClientPlan[];
  readonly faults: readonly Fault[];
  readonly tasks: readonly Task[];
}

export interface PlanOptions {
  /** True milliseconds in which tasks begin and faults happen. Default 60,000. */
  readonly durationMs?: number;
  /** How far clocks may run fast or slow. Default 0.01. */
  readonly drift?: number;
  /** How much of it machines may sleep, 0 to 1. Default 1. */
  readonly suspends?: number;
}

const CALM = 0.7;
const LAST_TASK = 0.85;
const START_WALL_MS = 1_800_000_000_000;

/** Draws a run from a seed. */
export function planFor(seed: number, options: PlanOptions = {}): Plan {
  const { durationMs = 60_000, drift = 0.01, suspends = 1 } = options;
  const random = new SeededRandom(seed);
  const ttlMs = random.whole(2, 10) * 1_000;
  const calmFromMs = durationMs * CALM;
  const clients = Array.from({ length: random.whole(2, 4) }, () => drawClient(random, drift));
  const tasks = clients.flatMap((_, client) => drawTasks(random, client, ttlMs, durationMs * LAST_TASK));
  const bursts = burstsFor(seed, clients.length, durationMs * LAST_TASK);
  const extras = extrasFor(seed);
  const revoked = revokedIn(seed);
  return {
    seed,
    durationMs,
    calmFromMs,
    ttlMs,
    noise: drawNoise(random, ttlMs),
    store: drawStore(random, drift),
    clients,
    faults: drawFaults(random, clients.length, ttlMs, calmFromMs, suspends),
    tasks: [...tasks, ...bursts.map((burst) => ({ ...burst, waitMs: 2 * ttlMs, ttlMs, writes: 0 }))]
      .sort((a, b) => a.atMs - b.atMs)
      .map((task, id) => ({ ...task, ...extras(task), ...revoked(), id })),
  };
}

function drawClock(random: SeededRandom, drift: number): ClockShape {
  return {
    rate: 1 + random.between(-drift, drift),
    monoMs: random.whole(0, 1_000_000),
    wallMs: START_WALL_MS + random.whole(-60_000, 60_000),
  };
}

function drawClient(random: SeededRandom, drift: number): ClientPlan {
  return {
    clock: drawClock(random, drift),
    handover: random.chance(0.8),
    idleSessionMs: random.chance(0.15) ? 500 : 600_000,
  };
}

/** Each kind of trouble is absent from some seeds: what hides behind another must show, too. */
function drawNoise(random: SeededRandom, ttlMs: number): Noise {
  const rate = (most: number): number => (random.chance(0.5) ? random.between(0, most) : 0);
  return {
    drop: rate(0.1),
    duplicate: rate(0.1),
    reorder: rate(0.1),
    slow: rate(0.15),
    slowMs: random.between(0.1, 1.2) * ttlMs,
    delayMs: random.between(1, 40),
  };
}

function drawStore(random: SeededRandom, drift: number): StorePlan {
  const tiny = random.chance(0.15);
  return {
    clock: drawClock(random, drift),
    maxWaiters: tiny ? random.whole(1, 4) : 1_000,
    maxLocksPerSession: tiny ? random.whole(1, 3) : 1_000,
    // Few, but more than a client has under way: what a copy finds forgotten is executed, which is a documented limit.
    rememberedRequests: random.chance(0.2) ? random.whole(24, 64) : 1_000,
    sixCalls: random.chance(0.25),
    fenceBlock: BigInt(random.whole(2, 64)),
    diskMs: random.between(1, 60),
  };
}

const L1S: readonly [string, string] = ['t1', 't2'];
const L2S: readonly [string, string] = ['a', 'b'];

function drawTasks(random: SeededRandom, client: number, ttlMs: number, untilMs: number): Omit<Task, 'id'>[] {
  const tasks: Omit<Task, 'id'>[] = [];
  const everyMs = random.between(0.2, 1.2) * ttlMs;
  const hot = random.chance(0.3);
  let atMs = random.between(0, everyMs);
  while (atMs < untilMs) {
    const burst = random.chance(0.1) ? random.whole(2, 4) : 1;
    for (let at = 0; at < burst; at++) tasks.push(drawTask(random, client, ttlMs, atMs, hot));
    atMs += random.between(0.1, 1.9) * everyMs;
  }
  return tasks;
}

function drawTask(
  random: SeededRandom,
  client: number,
  ttlMs: number,
  atMs: number,
  hot: boolean,
): Omit<Task, 'id'> {
  const l1 = hot ? 't1' : random.pick(L1S);
  return {
    client,
    atMs,
    key: random.chance(0.3) ? [l1] : [l1, hot ? 'a' : random.pick(L2S)],
    waitMs: random.chance(0.15) ? 0 : Math.ceil(random.between(0.1, 2) * ttlMs),
    ttlMs: random.chance(0.2) ? Math.ceil(ttlMs / random.whole(1, 3)) : ttlMs,
    holdMs: random.chance(0.3) ? 0 : random.between(0, random.chance(0.2) ? 2 : 0.4) * ttlMs,
    writes: random.whole(0, 2),
    ...(random.chance(0.1) ? { abortMs: random.between(0, 0.6) * ttlMs } : {}),
  };
}

function drawFaults(
  random: SeededRandom,
  clients: number,
  ttlMs: number,
  untilMs: number,
  suspends: number,
): Fault[] {
  const kinds = {
    pause: random.between(0, 4),
    suspend: random.between(0, 2) * suspends,
    cut: random.between(0, 4),
    reset: random.between(0, 4),
    slow: random.between(0, 2),
    'step-wall': random.between(0, 1.5),
    kill: random.between(0, 2.5),
    drain: random.between(0, 1.2),
  };
  const faults: Fault[] = [];
  for (const [what, rate] of Object.entries(kinds)) {
    for (let left = random.between(0, rate); random.fraction() < left; left--) {
      faults.push(drawFault(random, what as Fault['what'], clients, ttlMs, random.between(0, untilMs)));
    }
  }
  // Nothing that lasts reaches into the calm.
  return promised(faults.map((fault) => within(fault, untilMs))).sort((a, b) => a.atMs - b.atMs);
}

/**
 * A machine that sleeps while somebody sets its wall clock back has no clock left that tells the truth; only the fence
 * guards there. So a machine that sleeps has its clock set forward only.
 */
function promised(faults: readonly Fault[]): Fault[] {
  const sleepers = new Set(faults.map((fault) => (fault.what === 'suspend' ? fault.who : undefined)));
  return faults.map((fault) =>
    fault.what === 'step-wall' && sleepers.has(fault.who) ? { ...fault, byMs: Math.abs(fault.byMs) } : fault,
  );
}

function drawFault(
  random: SeededRandom,
  what: Fault['what'],
  clients: number,
  ttlMs: number,
  atMs: number,
): Fault {
  const client = `c${random.whole(1, clients)}`;
  const who = random.chance(0.3) ? 'server' : client;
  const forMs = random.between(0, random.pick([0.2, 1.2, 2])) * ttlMs;
  switch (what) {
    case 'pause':
    case 'suspend':
      return { what, who, atMs, forMs };
    case 'cut':
      return { what, who: client, way: random.pick(['up', 'down', 'both']), atMs, forMs };
    case 'reset':
      return { what, who: client, quiet: random.chance(0.3), atMs };
    case 'slow':
      return { what, who, atMs, forMs };
    case 'step-wall':
      return { what, who, byMs: random.between(-2, 2) * ttlMs, atMs };
    case 'kill':
      return { what, who, quiet: random.chance(0.3), atMs, forMs: forMs / 2 };
    case 'drain':
      return { what, limitMs: random.between(0, 2) * ttlMs, atMs, forMs: forMs / 2 };
  }
}

function within(fault: Fault, untilMs: number): Fault {
  return 'forMs' in fault ? { ...fault, forMs: Math.min(fault.forMs, untilMs - fault.atMs) } : fault;
}
