import { SeededRandom } from '../../lib/testing/index.js';
import { RedisBed } from '../support/redis-bed.js';
import { scaled, scaleNote } from '../support/scale.js';
import { HistoryCrew } from './history-crew.js';
import { real, type Faults } from './history-rota.js';
import { chosenSeed } from '../support/seed.js';

const TTL_MS = 400;
const until = { grants: scaled(20_000, 10), rounds: scaled(8, 8), limitMs: scaled(1_200_000, 10) };
/** KLOCK_SEED repeats a choice of faults, if not their exact instants. */
const seed = chosenSeed(1_000_000);
const random = new SeededRandom(seed);

let bed: RedisBed;
let crew: HistoryCrew;

const redisFaults: Faults = {
  'Redis SIGSTOP': async () => {
    bed.server.pause();
    await real(random.between(0.3, 2) * TTL_MS);
    bed.server.resume();
  },
  // What it had said is on its disk: exclusion outlives the restart.
  'Redis SIGKILL': () => bed.server.restart(),
  'scripts forgotten': () => bed.admin.script('FLUSH'),
  'subscriptions cut': () => bed.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub'),
  'clients cut': () => bed.admin.call('CLIENT', 'KILL', 'TYPE', 'normal'),
};

beforeAll(async () => {
  bed = await RedisBed.start({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
  crew = await HistoryCrew.start({
    ttlMs: TTL_MS,
    workers: 4,
    flows: 10,
    storeCalmMs: 500,
    random,
    storePorts: [bed.server.port],
    driver: ([proxy]) => ({ name: 'redis', port: proxy as number }),
  });
}, 60_000);

afterAll(async () => {
  await crew.close();
  await bed.stop();
}, 60_000);

it(
  `[I1] [I3] [I5] Redis: ${until.grants} grants and more of client processes under every fault, Redis killed among them, breach nothing (seed ${seed})${scaleNote(10)}`,
  async () => {
    await crew.underFaults(until, redisFaults);

    const verdict = await crew.verdict();
    console.log(`Redis: ${crew.summary()}`);
    expect(verdict).toEqual({ violations: [], uncaught: [] });
  },
  until.limitMs + 60_000,
);
