import { once } from 'node:events';
import { guide } from './guide.js';
import { killedHolder } from './killed-holder.js';
import { rushWithLock, rushWithoutLock } from './rush.js';
import { Stage } from './stage.js';
import { staleWrite } from './stale-write.js';
import { Statements } from './statements.js';

const SHELL_CHECK_MS = 250;

const print = (line: string): void => console.log(line);

/** Ctrl-C or SIGTERM: a wish, not a failure. */
class Interrupted extends Error {}

async function demonstrate(stage: Stage): Promise<boolean> {
  const say = new Statements(print);
  for (const part of [rushWithLock, rushWithoutLock, killedHolder, staleWrite]) await part(stage, say);
  print(`\n${say.summary()}`);
  return say.allTrue;
}

/** Starts everything, shows it, keeps it up if asked to; returns the exit code. */
async function run(
  stage: Stage,
  { demo, stay }: { demo: boolean; stay: boolean },
  ending: AbortSignal,
): Promise<number> {
  print('> Starting a database, the lock server and two replicas ...');
  await stage.start();
  for (const line of stage.describe()) print(`  ${line}`);
  const fine = !demo || (await demonstrate(stage));
  if (stay) {
    print(guide(stage));
    if (!ending.aborted) await once(ending, 'abort');
    if (!(ending.reason instanceof Interrupted)) throw ending.reason;
  }
  return fine ? 0 : 1;
}

/** The first signal ends everything in order, the second one at once: the processes see that this one is gone. */
function endOnSignals(ending: AbortController): void {
  const end = (why: string): void => {
    print('\n> Stopping ...');
    ending.abort(new Interrupted(why));
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => (ending.signal.aborted ? process.exit(1) : end(name)));
  }
  if (process.env.npm_lifecycle_event === 'start') endWithShell(ending.signal, end);
}

/** npm hands its SIGTERM to the shell between itself and this process, and that dies of it without a word. */
function endWithShell(ending: AbortSignal, end: (why: string) => void): void {
  const shell = process.ppid;
  const look = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(look);
    if (!ending.aborted) end('npm has ended');
  }, SHELL_CHECK_MS);
  look.unref();
}

async function main(args: readonly string[]): Promise<number> {
  const ending = new AbortController();
  endOnSignals(ending);
  const stage = new Stage(ending);
  try {
    return await run(stage, { demo: !args.includes('--up'), stay: !args.includes('--once') }, ending.signal);
  } catch (error) {
    // An aborted call only says that it was aborted; why is known here.
    const reason: unknown = ending.signal.aborted ? ending.signal.reason : error;
    if (!(reason instanceof Interrupted))
      console.error(`\n${reason instanceof Error ? reason.message : String(reason)}`);
    return 1;
  } finally {
    await stage.stop();
    print('> Everything is stopped.');
  }
}

process.exitCode = await main(process.argv.slice(2));
