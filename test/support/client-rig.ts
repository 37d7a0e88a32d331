import {
  createKlock,
  type InstanceOptions,
  type KlockInstance,
  type LockDriver,
  type LockEvent,
} from '../../lib/core/index.js';
import { type FakeClock } from '../../lib/core/fake-clock.js';
import { klockDriver, type KlockDriverOptions } from '../../lib/drivers/klock/index.js';
import { ScriptedLockServer, type ScriptedOptions } from './scripted-lock-server.js';

export type Lost = Extract<LockEvent, { type: 'lock.lost' }>;
type Warning = Extract<LockEvent, { type: 'warning' }>;

/** An instance over the wire, and what it told its listeners. */
export interface Rig {
  readonly klock: KlockInstance;
  readonly lost: Lost[];
  readonly warnings: Warning[];
}

export interface RigOptions {
  readonly instance?: InstanceOptions;
  readonly driver?: Partial<KlockDriverOptions>;
  readonly clock?: FakeClock;
  /** How the driver is made; the klock driver unless told otherwise. */
  readonly driverOf?: (options: KlockDriverOptions) => LockDriver;
}

/** Makes an instance; nothing is sent. */
export function openRig(
  url: string | readonly string[],
  { instance, driver, clock, driverOf = klockDriver }: RigOptions = {},
): Rig {
  const klock = createKlock({
    ...instance,
    driver: driverOf({ url, ...driver }),
    ...(clock === undefined ? {} : { clock }),
  });
  const lost: Lost[] = [];
  const warnings: Warning[] = [];
  klock.on('lock.lost', (event) => lost.push(event));
  klock.on('warning', (event) => warnings.push(event));
  return { klock, lost, warnings };
}

/** Servers and instances of one test, ended after it. */
export class Bench {
  private readonly ends: (() => Promise<unknown>)[] = [];

  async server(options?: ScriptedOptions): Promise<ScriptedLockServer> {
    const server = await ScriptedLockServer.start(options);
    this.ends.push(() => server.stop());
    return server;
  }

  rig(url: string | readonly string[], options?: RigOptions): Rig {
    const rig = openRig(url, options);
    // A fake clock would stand still while the close waits for it.
    this.ends.unshift(async () => {
      const closed = rig.klock.close({ graceMs: 1 });
      for (let turn = 0; turn < 20 && options?.clock !== undefined; turn++) {
        await options.clock.advance(250);
        await real(2);
      }
      await closed;
    });
    return rig;
  }

  /** Runs at the end of the test, before what was registered earlier. */
  after(end: () => unknown): void {
    this.ends.unshift(async () => {
      await end();
    });
  }

  async end(): Promise<void> {
    for (const end of this.ends) await end();
    this.ends.length = 0;
  }
}

/** Waits in real time until the condition holds. */
export async function until(condition: () => boolean, withinMs = 5_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not so within ${withinMs} ms: ${condition.toString()}`);
    await real(2);
  }
}

/** Real time passes. */
export function real(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Moves a fake clock in small steps, letting the network answer after each, until the condition holds. */
export async function advanceUntil(
  clock: FakeClock,
  condition: () => boolean,
  stepMs = 50,
  steps = 400,
): Promise<void> {
  for (let step = 0; step < steps; step++) {
    if (condition()) return;
    await clock.advance(stepMs);
    await real(2);
  }
  throw new Error(`not so after ${steps * stepMs} ms of the clock: ${condition.toString()}`);
}
