import type { Logger } from '@nestjs/common';
import type { Klock, LockKey } from '../core/index.js';
import { formatKey, quote } from '../core/index.js';
import { LogRecord, type LogFacts } from './log-record.js';

type Level = 'log' | 'warn' | 'error';

/**
 * Writes to Nest's log what somebody should know although no caller is told. Ends with the instance.
 * @param logLocks also a record for each lock acquired and released.
 */
export function logEvents(klock: Klock, logger: Logger, logLocks = false): void {
  const write = (level: Level, event: string, message: string, facts: LogFacts = {}): void => {
    logger[level](new LogRecord(event, `${klock.name}: ${message}`, { instance: klock.name, ...facts }));
  };
  if (logLocks) logEachLock(klock, write);
  logEndsOfLocks(klock, write);
  logStore(klock, write);
}

type Write = (level: Level, event: string, message: string, facts?: LogFacts) => void;

/** Nobody listens to these two events otherwise, and then they are not even made. */
function logEachLock(klock: Klock, write: Write): void {
  klock.on('lock.granted', ({ type, key, fence, waitedMs }) => {
    const text = `lock ${formatKey(key)} acquired after ${Math.round(waitedMs)} ms`;
    write('log', type, text, { ...lockFacts(key, fence), waitedMs });
  });
  klock.on('lock.released', ({ type, key, fence, heldMs, outcome }) => {
    const text = `lock ${formatKey(key)} released after ${Math.round(heldMs)} ms: ${outcome}`;
    write('log', type, text, { ...lockFacts(key, fence), heldMs, outcome });
  });
}

function logEndsOfLocks(klock: Klock, write: Write): void {
  klock.on('lock.lost', ({ type, key, fence, reason, code, heldMs }) => {
    // A shutdown reports what it abandons in one line.
    if (reason === 'closed') return;
    const text = `lock ${formatKey(key)} was lost: ${reason} (${code})`;
    write('warn', type, text, { ...lockFacts(key, fence), reason, code, heldMs });
  });
  klock.on('release.failed', ({ type, key, fence, cause }) => {
    const text = `the release of ${formatKey(key)} was not answered in time and goes on: ${errorText(cause)}`;
    write('warn', type, text, { ...lockFacts(key, fence), error: errorText(cause) });
  });
  klock.on('lock.long-held', ({ type, key, fence, heldMs }) => {
    const text = `lock ${formatKey(key)} has been held for ${Math.round(heldMs)} ms`;
    write('warn', type, text, { ...lockFacts(key, fence), heldMs });
  });
}

function logStore(klock: Klock, write: Write): void {
  klock.on('lease.jeopardy', ({ type, sessionId, locks, remainingMs, cause }) => {
    const text = `a renewal failed; ${locks} locks are held for ${Math.round(remainingMs)} ms more: ${errorText(cause)}`;
    write('warn', type, text, { sessionId, locks, remainingMs, error: errorText(cause) });
  });
  klock.on('store.unavailable', ({ type, cause }) => {
    const error = errorText(cause);
    write('error', type, `the lock store does not answer: ${error}`, { error });
  });
  klock.on('store.available', ({ type }) => write('log', type, 'the lock store answers again'));
  klock.on('warning', ({ type, code, message, cause }) => {
    const error = cause === undefined ? undefined : errorText(cause);
    write('warn', type, `${code}: ${message}`, { code, error });
  });
}

function lockFacts(key: LockKey, fence: bigint): LogFacts {
  // As text: JSON has no number for it.
  return { key: key.join('/'), fence: fence.toString() };
}

function errorText(cause: unknown): string {
  return cause instanceof Error ? cause.message : quote(cause);
}
