import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { cpuMs } from '../children/serve.js';
import type { LockClient } from '../contenders/contender.js';
import { HoldLog, type Holds } from './hold-log.js';
import { messageOf, sharedNow } from './sample.js';
import type { StartingLine } from './starting-line.js';

/** Waiters that ask for one key at the same moment and hold nothing; over when each had it once. */
export interface BurstLoad {
  readonly key: string;
  readonly waiters: number;
}

export interface BurstSample {
  readonly startedMs: number;
  readonly endedMs: number;
  /** How long each waiter waited until it held. */
  readonly waitsMs: readonly number[];
  readonly cpuMs: number;
  readonly errors: number;
  readonly firstError?: string;
}

/** Bursts one after the other, and what was held in them. */
export interface BurstSamples {
  readonly bursts: readonly BurstSample[];
  readonly holds: Holds;
}

/** Timers are late by about this; the rest is waited for awake. */
const AWAKE_MS = 2;

/** A contender that cannot do its warm-up in this time is slow for other reasons than code that is still cold. */
const MAX_WARM_MS = 2_000;

/** Bursts one after the other, until they were so many pairs. */
export async function warmedUpByBursts(client: LockClient, waiters: number, pairs: number): Promise<void> {
  const untilMs = sharedNow() + MAX_WARM_MS;
  const load: BurstLoad = { key: `burst-${process.pid}`, waiters };
  const log = new HoldLog();
  for (let done = 0; done < pairs && sharedNow() < untilMs; done += waiters) await burst(client, load, log);
}

/** As many bursts as there are starts, each in a turn of its own. */
export async function bursts(client: LockClient, load: BurstLoad, line: StartingLine): Promise<BurstSamples> {
  const samples: BurstSample[] = [];
  const log = new HoldLog();
  for (let startMs = await line.next(); startMs !== undefined; startMs = await line.next()) {
    await until(startMs);
    samples.push(await burst(client, load, log));
    await nextTurn();
  }
  return { bursts: samples, holds: log.holds };
}

async function until(startMs: number): Promise<void> {
  const restMs = startMs - sharedNow() - AWAKE_MS;
  if (restMs > 0) await sleep(restMs);
  while (sharedNow() < startMs);
}

async function burst(client: LockClient, { key, waiters }: BurstLoad, log: HoldLog): Promise<BurstSample> {
  const cpuBefore = cpuMs();
  const startedMs = sharedNow();
  const waitsMs: number[] = [];
  const calledMs = performance.now();
  const held = (fence?: bigint): void => {
    waitsMs.push(sharedNow() - startedMs);
    log.add([key], fence, calledMs);
  };
  const sections = Array.from({ length: waiters }, () => client.section([key], held));
  const ends = await Promise.allSettled(sections);
  const failed = ends.find((end) => end.status === 'rejected');
  return {
    startedMs,
    endedMs: sharedNow(),
    waitsMs,
    cpuMs: cpuMs() - cpuBefore,
    errors: ends.filter((end) => end.status === 'rejected').length,
    ...(failed === undefined ? undefined : { firstError: messageOf(failed.reason) }),
  };
}
