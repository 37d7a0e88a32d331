import { SeededRandom } from '../../lib/testing/index.js';
import { EtcdRig } from '../support/etcd-rig.js';
import { scaled, scaleNote } from '../support/scale.js';
import { HistoryCrew } from './history-crew.js';
import { real, type Faults } from './history-rota.js';
import { chosenSeed } from '../support/seed.js';

const TTL_MS = 2_000;
const until = { grants: scaled(10_000, 10), rounds: scaled(4, 4), limitMs: scaled(1_200_000, 10) };
const WORST_STALL_MS = 3_000;
/** KLOCK_SEED repeats a choice of faults, if not their exact instants. */
const seed = chosenSeed(1_000_000);
const random = new SeededRandom(seed);

const rig = new EtcdRig();
let crew: HistoryCrew;

/** One member is away at a time: what a cluster of three is for. */
function memberFaults(): Faults {
  const entries = rig.etcd.members.flatMap((member) => [
    [
      `${member.name} SIGKILL`,
      async () => {
        await member.kill();
        await real(random.between(200, 1_000));
        await member.restart();
      },
    ],
    [
      `${member.name} SIGSTOP`,
      async () => {
        member.pause();
        await real(random.between(500, 1_500));
        member.resume();
      },
    ],
  ]);
  return Object.fromEntries(entries) as Faults;
}

beforeAll(async () => {
  await rig.start(3);
  crew = await HistoryCrew.start({
    ttlMs: TTL_MS,
    workers: 4,
    flows: 10,
    storeCalmMs: 600,
    random,
    storePorts: rig.etcd.members.map(({ port }) => port),
    driver: (ports) => ({ name: 'etcd', hosts: ports.map((port) => `127.0.0.1:${port}`) }),
  });
}, 60_000);

afterAll(async () => {
  await crew.close();
  await rig.stop();
}, 60_000);

it(
  `[I1] [I3] [I5] etcd: ${2 * until.grants} grants and more of client processes, each member killed and stopped in turn and every fault of a client beside that, breach nothing (seed ${seed})${scaleNote(10)}`,
  async () => {
    await crew.underFaults(until, memberFaults(), { clientsToo: false });
    const stallMs = Math.round(crew.worstStallMs());
    await crew.underFaults(until, memberFaults());
    const verdict = await crew.verdict();
    console.log(
      `etcd: ${crew.summary()}; worst stall of a client while members alone were struck: ${stallMs} ms`,
    );
    expect(verdict).toEqual({ violations: [], uncaught: [] });
    expect(stallMs).toBeLessThan(WORST_STALL_MS);
  },
  2 * until.limitMs + 60_000,
);
