import {
  type INestApplicationContext,
  type LoggerService,
  type Type,
  type DynamicModule,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { memoryDriver, memoryStore, type LockDriver, type MemoryStore } from 'klock';

/** What a promise rejects with; fails the test if it does not. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error as Error;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Polls until it is true; fails the test after five seconds. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    if (await isTrue()) return;
    await sleep(5);
  }
  throw new Error(`waited in vain: ${what}`);
}

/** Starts an application without a listener. Its failures are the test's, not the process's. */
export async function start(
  module: Type | DynamicModule,
  logger: LoggerService | false = false,
): Promise<INestApplicationContext> {
  return await NestFactory.createApplicationContext(module, { logger, abortOnError: false });
}

/** A memory driver over a store that outlives it, so that a test can look at what it left. */
export function sharedMemory(): { store: MemoryStore; driver: () => LockDriver } {
  const store = memoryStore();
  return { store, driver: () => memoryDriver({ store }) };
}

/** A logger for an application, and what it was told. */
export function listeningLogger(): { logger: LoggerService; lines: string[] } {
  const lines: string[] = [];
  const note = (message: unknown): void => void lines.push(String(message));
  return { logger: { log: note, warn: note, error: note, debug: note, verbose: note }, lines };
}
