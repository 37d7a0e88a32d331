import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeededRandom } from '../../lib/testing/index.js';
import { LockServerProcess } from '../support/lock-server.js';
import { scaled, scaleNote } from '../support/scale.js';
import { HistoryCrew } from './history-crew.js';
import { real, type Faults } from './history-rota.js';
import { chosenSeed } from '../support/seed.js';

const TTL_MS = 300;
const until = { grants: scaled(20_000, 10), rounds: scaled(8, 8), limitMs: scaled(1_200_000, 10) };
/** KLOCK_SEED repeats a choice of faults, if not their exact instants. */
const seed = chosenSeed(1_000_000);
const random = new SeededRandom(seed);

let folder: string;
let server: LockServerProcess;
let crew: HistoryCrew;
let port = 0;

async function startServer(): Promise<void> {
  server = await LockServerProcess.start({
    address: `127.0.0.1:${port}`,
    stateDir: join(folder, 'state'),
    maxLeaseMs: TTL_MS,
    defaultLeaseMs: TTL_MS,
    drainMs: 500,
  });
  port = server.facts.port;
}

async function restarted(signal: NodeJS.Signals): Promise<void> {
  await server.kill(signal);
  await startServer();
}

const serverFaults: Faults = {
  'server SIGSTOP': async () => {
    server.child.pause();
    await real(random.between(0.3, 2) * TTL_MS);
    server.child.resume();
  },
  'server SIGKILL': () => restarted('SIGKILL'),
  'server SIGTERM': () => restarted('SIGTERM'),
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'klock-history-'));
  await startServer();
  crew = await HistoryCrew.start({
    ttlMs: TTL_MS,
    workers: 4,
    flows: 10,
    storeCalmMs: 1_000,
    random,
    storePorts: [port],
    driver: ([proxy]) => ({ name: 'klock', url: `klock://127.0.0.1:${proxy}` }),
  });
}, 60_000);

afterAll(async () => {
  await crew.close();
  await server.kill();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

it(
  `[I1] [I3] [I5] klock: ${until.grants} grants and more of client processes under every fault, the server killed and ended in order among them, breach nothing (seed ${seed})${scaleNote(10)}`,
  async () => {
    await crew.underFaults(until, serverFaults);
    const verdict = await crew.verdict();
    console.log(`klock: ${crew.summary()}`);
    expect(verdict).toEqual({ violations: [], uncaught: [] });
  },
  until.limitMs + 60_000,
);
