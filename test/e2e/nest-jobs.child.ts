// One replica of test/e2e/nest-jobs.spec.ts. Arguments: its name, the lock server's url.
/* eslint-disable @typescript-eslint/require-await -- decorated methods are async, awaiting or not */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  CurrentLock,
  InjectKlock,
  KlockModule,
  Locked,
  isLockError,
  type Klock,
  type LockHandle,
} from 'klock';
import { CronJob } from 'cron';
import { emit, serve } from '../support/child-side.mjs';

const [replica = '', url = ''] = process.argv.slice(2);
const SKIP = { waitMs: 0, onBusy: 'skip' } as const;
const EVERY_SECOND = '* * * * * *';
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Times by the clock all replicas share. */
async function body(job: string, ms: number): Promise<string> {
  const began = Date.now();
  emit('began', { job, replica, began });
  await sleep(ms);
  emit('ran', { job, replica, began, ended: Date.now() });
  return replica;
}

for (const kind of ['unhandledRejection', 'uncaughtException']) {
  process.on(kind, (error) => emit('unhandled', String(error)));
}

@Injectable()
class Jobs {
  constructor(@InjectKlock() readonly klock: Klock) {}

  @Cron(EVERY_SECOND)
  @Locked('job:export', SKIP)
  async cronAbove(): Promise<void> {
    await body('cronAbove', 300);
  }

  @Locked('job:import', SKIP)
  @Cron(EVERY_SECOND)
  async cronBelow(): Promise<void> {
    await body('cronBelow', 300);
  }

  /** One key for each firing: the same on all replicas, whenever exactly each of them fires. */
  @Cron(EVERY_SECOND)
  @Locked(() => `job:mail:${Math.round(Date.now() / 1_000)}`, { ...SKIP, atLeastMs: 900 })
  async oncePerFiring(): Promise<void> {
    await body('oncePerFiring', 0);
  }

  @Locked('job:long', { ...SKIP, ttlMs: 1_000 })
  async long(ms: number): Promise<string> {
    return await body('long', ms);
  }

  @Locked('job:fixed', { ttlMs: 1_000, renew: false })
  async withoutRenewal(ms: number, @CurrentLock() lock?: LockHandle): Promise<void> {
    const began = Date.now();
    lock?.signal.addEventListener('abort', () => emit('aborted', Date.now() - began));
    await sleep(ms);
  }

  @Locked('mail', { waitMs: 300 })
  async byDefault(@CurrentLock() lock?: LockHandle): Promise<string> {
    return `ran ${lock?.held}`;
  }

  @Locked('mail', { waitMs: 300, onUnavailable: 'run-unlocked' })
  async runUnlocked(@CurrentLock() lock?: LockHandle): Promise<string> {
    return `ran ${lock === undefined ? 'unlocked' : 'locked'}`;
  }

  @Locked('mail', { waitMs: 300, onUnavailable: 'skip' })
  async skip(): Promise<string> {
    return 'ran';
  }
}

@Module({
  imports: [ScheduleModule.forRoot(), KlockModule.forRoot({ url, ttlMs: 2_000 })],
  providers: [Jobs],
})
class App {}

const logger = {
  log: () => undefined,
  error: () => undefined,
  warn: (line: unknown) => emit('warned', String(line)),
};
const app = await NestFactory.createApplicationContext(App, { logger });
app.enableShutdownHooks();
const jobs = app.get(Jobs);

const dynamic = new CronJob(EVERY_SECOND, () => {
  jobs.klock
    .withLock('job:dynamic', { waitMs: 0 }, () => body('dynamic', 300))
    .catch((error: unknown) => {
      // Another replica has it; anything else is for the log.
      if (!isLockError(error, 'LOCK_TIMEOUT')) emit('failed', String(error));
    });
});
app.get(SchedulerRegistry).addCronJob('dynamic', dynamic);
dynamic.start();

serve({
  long: (ms: number) => jobs.long(ms),
  withoutRenewal: (ms: number) => jobs.withoutRenewal(ms),
  byDefault: () => jobs.byDefault(),
  runUnlocked: () => jobs.runUnlocked(),
  skip: async () => (await jobs.skip()) ?? 'skipped',
});
