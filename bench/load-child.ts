import { EventEmitter } from 'node:events';
import { heapBytes, serve } from './children/serve.js';
import { loadContender, type Addresses, type ContenderName, type LockClient } from './contenders/index.js';
import { bursts, warmedUpByBursts, type BurstLoad, type BurstSamples } from './loads/burst.js';
import { cancelAll } from './loads/cancel.js';
import { HostedLine, JoinedLine, type Series, type StartingLine } from './loads/starting-line.js';
import { steady, type SteadyLoad } from './loads/steady.js';

// One process of one contender: opens its client and carries out loads when told to.
// Thousands of waits share one signal on purpose.
EventEmitter.defaultMaxListeners = 0;

const clients: LockClient[] = [];
const held: unknown[] = [];
let warm = false;
let warmForBursts = false;
let line: StartingLine | undefined;
const AT_ONCE = 64;
const FIRST_WARM_UP = 2;
/** Of the pairs of the first warm-up, before each later measurement. */
const AGAIN = 1 / 4;

function client(): LockClient {
  const [first] = clients;
  if (first === undefined) throw new Error('nothing was opened');
  return first;
}

async function open(name: ContenderName, addresses: Addresses, count = 1): Promise<void> {
  const contender = await loadContender(name);
  await inBatches(count, async () => void clients.push(await contender.open(addresses)));
}

/** Makes every client do something once: its session is opened by that. */
async function useEach(): Promise<void> {
  await inBatches(clients.length, (index) => clients[index]?.section([`session-${index}`], () => undefined));
}

/**
 * The first load of a process meets code that was never run: it warms up longer. While the others of a round are measured Node
 * gives up some of what it has compiled, and a few callers take a while to run it often enough again.
 */
function warmedUp(load: SteadyLoad): SteadyLoad {
  if (warm) return { ...load, warmPairs: (load.warmPairs ?? 0) * AGAIN };
  warm = true;
  return { ...load, warmMs: load.warmMs * FIRST_WARM_UP };
}

/** Bursts run other code than a steady load does: where many wait for one key, and it is passed on. */
async function warmUpForBursts(waiters: number, pairs: number): Promise<void> {
  if (warmForBursts) return;
  warmForBursts = true;
  await warmedUpByBursts(client(), waiters, pairs);
}

/** Says to other processes when each burst begins; the port where they join. */
async function hostBursts(guests: number, series: Series): Promise<number> {
  const hosted = new HostedLine(guests, series);
  line = hosted;
  return await hosted.open();
}

async function joinBursts(port: number): Promise<void> {
  line = await JoinedLine.join(port);
}

/** The bursts of the line this process stands at. */
async function linedUpBursts(load: BurstLoad): Promise<BurstSamples> {
  if (line === undefined) throw new Error('nobody says when the bursts begin');
  try {
    return await bursts(client(), load, line);
  } finally {
    line.close();
  }
}

/** Takes locks and keeps them as long as this process lives. */
async function hold(from: number, count: number): Promise<void> {
  const taker = client();
  const take = taker.take?.bind(taker);
  if (take === undefined) throw new Error('this contender only runs sections');
  await inBatches(count, async (index) => void held.push(await take([`held-${from + index}`])));
}

async function inBatches(count: number, work: (index: number) => unknown): Promise<void> {
  for (let next = 0; next < count; next += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - next);
    await Promise.all(Array.from({ length: size }, (_, index) => Promise.resolve(work(next + index))));
  }
}

serve({
  open,
  useEach,
  hold,
  steady: (load: SteadyLoad) => steady(client(), warmedUp(load)),
  warmUpForBursts,
  hostBursts,
  joinBursts,
  bursts: linedUpBursts,
  cancelAll: (key: string, waiters: number) => cancelAll(client(), key, waiters),
  heap: heapBytes,
});
