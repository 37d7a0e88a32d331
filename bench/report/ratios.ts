import { REDIS_LIBRARIES } from '../contenders/index.js';
import type { Results } from '../results.js';
import { P12_AT_MOST } from '../workloads/server-cpu.js';
import { fastest, figureOf, type Ratio } from './ratio.js';

type Value = (results: Results) => number;

const ONE = '1 × 64 waiters';
const TWO = '2 × 32 waiters';

/** Pairs per second of one contender over those of another, in the same rows. */
function speed(workload: string, at: string, ours: string, theirs: string): Value {
  return (results) =>
    figureOf(results, 'pairsPerSecond', workload, at, ours) /
    figureOf(results, 'pairsPerSecond', workload, at, theirs);
}

function overFastest(
  workload: string,
  at: string,
  ours: string,
  names: readonly string[] = REDIS_LIBRARIES,
): Value {
  return (results) => {
    const best = fastest(results, workload, at, names).figures.pairsPerSecond ?? NaN;
    return figureOf(results, 'pairsPerSecond', workload, at, ours) / best;
  };
}

/** How many times shorter our 99th percentile of waits is than that of the fastest library. */
function shorterWait(at: string, ours: string): Value {
  return (results) => {
    const theirs = fastest(results, 'burst', at, REDIS_LIBRARIES).figures.p99Ms ?? NaN;
    return theirs / figureOf(results, 'p99Ms', 'burst', at, ours);
  };
}

const DECORATORS = ['murlock', 'murlock-best', 'nest-redlock', 'nest-redlock-best'];
const MURLOCKS = DECORATORS.slice(0, 2);
const REDLOCKS = DECORATORS.slice(2);

function atLeast(id: string, times: number, text: string, value: Value): Ratio {
  return { id, text, target: { atLeast: times }, unit: '×', value };
}

function atMost(id: string, most: number, unit: Ratio['unit'], text: string, value: Value): Ratio {
  return { id, text, target: { atMost: most }, unit, value };
}

/** The slower of async-mutex's two builds. */
const IMPORTED = 'async-mutex-imported';

const d = (inFlight: number): string => `${inFlight} in flight`;

/** How much faster than async-mutex: nanoseconds the other way round. */
function faster(at: string, ours: string, mutex = 'async-mutex'): Value {
  return (results) =>
    figureOf(results, 'nsPerPair', 'in-process', at, mutex) /
    figureOf(results, 'nsPerPair', 'in-process', at, ours);
}

function kilobytes(at: string, contender: string): Value {
  return (results) => figureOf(results, 'bytes', 'memory', at, contender) / 1_024;
}

function spreadOf(name: 'workerSpread' | 'processSpread', ours: string): Value {
  return (results) => figureOf(results, name, 'sustained', TWO, ours);
}

function cpu(at: string, contender: string): Value {
  return (results) => figureOf(results, 'times', 'server-cpu', at, contender);
}

function commands(at: string): Value {
  return (results) => figureOf(results, 'commandsPerPair', 'burst', at, 'klock-redis');
}

/** The ratios of the project's performance targets. P14 needs the original's server and is measured by hand. */
export const RATIOS: readonly Ratio[] = [
  atLeast(
    'P1',
    20,
    'klock driver to a bare unary echo, 64 in flight',
    speed('distinct', d(64), 'klock', 'echo-unary'),
  ),
  atLeast('P2', 0.6, 'to a bare batched stream, 64', speed('distinct', d(64), 'klock', 'echo-stream')),
  atLeast('P2', 0.6, 'the same, 256', speed('distinct', d(256), 'klock', 'echo-stream')),
  atLeast('P3', 2, 'to the fastest Redis library, 64', overFastest('distinct', d(64), 'klock')),
  atLeast('P3', 3, 'the same, 256', overFastest('distinct', d(256), 'klock')),
  atLeast('P4', 0.8, 'to a bare batched stream, 1', speed('distinct', d(1), 'klock', 'echo-stream')),
  atLeast('P4', 0.5, 'to the fastest Redis library, 1', overFastest('distinct', d(1), 'klock')),
  atLeast('P5', 50, 'burst of 64 to the fastest Redis library', overFastest('burst', ONE, 'klock')),
  atLeast('P5', 10, 'its 99th percentile of waits, times shorter', shorterWait(ONE, 'klock')),
  atLeast('P6', 20, 'burst of 2 × 32 to the fastest Redis library', overFastest('burst', TWO, 'klock')),
  atMost('P6b', 2, '×', 'shares of two processes, largest to smallest', spreadOf('processSpread', 'klock')),
  atMost('P6b', 2, '×', 'shares of their waiters', spreadOf('workerSpread', 'klock')),
  atLeast('P7', 3, '@Locked to @MurLock, 64', overFastest('distinct', d(64), 'klock-locked', MURLOCKS)),
  atLeast('P7', 3, '@Locked to @Redlock, 64', overFastest('distinct', d(64), 'klock-locked', REDLOCKS)),
  atLeast(
    'P8',
    1,
    'Redis driver to the fastest Redis library, 64',
    overFastest('distinct', d(64), 'klock-redis'),
  ),
  atLeast('P8', 1.5, 'the same, 256', overFastest('distinct', d(256), 'klock-redis')),
  atLeast(
    'P9',
    50,
    'Redis driver, burst of 64, to the fastest library',
    overFastest('burst', ONE, 'klock-redis'),
  ),
  atLeast('P9', 20, 'the same, 2 × 32', overFastest('burst', TWO, 'klock-redis')),
  atMost('P9', 1, 'commands', 'Redis commands for a hand-over, one process', commands(ONE)),
  atMost('P9', 10, 'commands', 'the same, two processes', commands(TWO)),
  atMost(
    'P9',
    2,
    '×',
    'shares of two processes, largest to smallest',
    spreadOf('processSpread', 'klock-redis'),
  ),
  atMost('P9', 2, '×', 'shares of their waiters', spreadOf('workerSpread', 'klock-redis')),
  atLeast(
    'P10',
    0.8,
    'etcd driver to put + delete, 64',
    speed('distinct', d(64), 'klock-etcd', 'etcd-transactions'),
  ),
  atLeast(
    'P10',
    2,
    "etcd driver to the etcd3 client's lock, 64",
    speed('distinct', d(64), 'klock-etcd', 'etcd3-lock'),
  ),
  atLeast('P11', 4, 'engine to async-mutex, required, uncontended', faster('uncontended', 'lock-table')),
  atLeast(
    'P11',
    1,
    'memory driver to async-mutex, imported, uncontended',
    faster('uncontended', 'memory-driver', IMPORTED),
  ),
  atLeast('P11', 1, 'the same, 64 waiters', faster('64 waiters', 'memory-driver', IMPORTED)),
  atLeast(
    'P11',
    1,
    'memory driver to async-mutex, required, uncontended',
    faster('uncontended', 'memory-driver'),
  ),
  atLeast('P11', 1, 'the same, 64 waiters', faster('64 waiters', 'memory-driver')),
  atMost(
    'P12',
    P12_AT_MOST,
    '×',
    'server CPU a pair with 100,000 locks held',
    cpu('100,000 locks held', 'held'),
  ),
  atMost(
    'P12',
    P12_AT_MOST,
    '×',
    'with 10,000 waiters elsewhere',
    cpu('10,000 waiters elsewhere', 'waiting'),
  ),
  atMost('P12', P12_AT_MOST, '×', 'with 10,000 idle sessions', cpu('10,000 idle sessions', 'sessions')),
  atMost('P13', 24, 'KB', 'an idle session', kilobytes('idle session, shared connection', 'session')),
  atMost('P13', 1, 'KB', 'a held lock on the server', kilobytes('held lock', 'server')),
  atMost('P13', 2, 'KB', 'a held lock on the client', kilobytes('held lock', 'client')),
];
