import { pause, createKlock, isLockError, type Klock } from '../core/index.js';
import type { Command, Terminal } from './command.js';
import { count, duration, parseFlags, text, type ValuesOf } from './flags.js';
import { LoadTally } from './load-tally.js';
import { driverFor, SERVER_FLAGS } from './server-flags.js';

const FLAGS = {
  ...SERVER_FLAGS,
  concurrency: count(32, 10_000, 'workers, each with a client and a session of its own'),
  duration: duration(15_000, 'how long they work'),
  'lock-timeout': duration(2_000, 'how long a worker waits for a lock'),
  p1: text('tenant-load', 'first part of every key'),
  keyspace: count(512, 10_000_000, 'number of second parts, drawn at random'),
};

type Load = ValuesOf<typeof FLAGS>;

/** A worker that was refused at once must not spin. */
const PAUSE_AFTER_FAILURE_MS = 10;

/** `klock bench`: workers that lock and unlock for a while, and what came of it. */
export const loadCommand: Command = {
  about: 'puts load on a lock server and tells rate, errors and latencies',
  flags: FLAGS,
  run: async (words, terminal) => {
    const load = parseFlags(FLAGS, words);
    const clients = Array.from({ length: load.concurrency }, (_, index) => openClient(load, index));
    terminal.print(
      `${load.concurrency} workers on ${load.addr} for ${load.duration / 1_000} s, ${load.keyspace} keys below ${load.p1}`,
    );
    const tally = new LoadTally();
    const startedMs = terminal.clock.monoMs();
    const untilMs = startedMs + load.duration;
    await Promise.all(clients.map((client) => work(client, { load, tally, terminal, untilMs })));
    const elapsedMs = terminal.clock.monoMs() - startedMs;
    for (const line of tally.lines(elapsedMs)) terminal.print(line);
    await Promise.all(clients.map((client) => client.close({ graceMs: 1 })));
    return tally.successes > 0 ? 0 : 1;
  },
};

interface Run {
  readonly load: Load;
  readonly tally: LoadTally;
  readonly terminal: Terminal;
  readonly untilMs: number;
}

function openClient(load: Load, index: number): Klock {
  return createKlock({ driver: driverFor(load), clientName: `bench-${index}`, waitMs: load['lock-timeout'] });
}

async function work(client: Klock, run: Run): Promise<void> {
  const { clock, signal } = run.terminal;
  while (clock.monoMs() < run.untilMs && signal?.aborted !== true) await onePair(client, run);
}

async function onePair(client: Klock, { load, tally, terminal }: Run): Promise<void> {
  const { clock, random } = terminal;
  const key = [load.p1, `key-${Math.floor(random.fraction() * load.keyspace)}`] as const;
  const startedMs = clock.monoMs();
  try {
    const lock = await client.acquire(key);
    const outcome = await lock.release();
    if (outcome === 'released') tally.success(clock.monoMs() - startedMs);
    else tally.failure(`the release ended with '${outcome}'`);
  } catch (error) {
    tally.failure(isLockError(error) ? `${error.code}: ${error.message}` : String(error));
    await pause(clock, PAUSE_AFTER_FAILURE_MS);
  }
}
