import { createKlock, type KlockInstance, type LockKey } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';
import { checkHistory, HistoryRecorder, recordLocks } from '../../lib/testing/history/index.js';
import { real, until } from '../support/client-rig.js';
import { scaled, scaleNote } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const FACTOR = 25;
const CUTS = scaled(1_000, FACTOR);
const SEED = Number(process.env.KLOCK_TEST_SEED ?? Date.now() % 100_000);

function randomFrom(seed: number): () => number {
  let state = seed + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

describe('streams cut under load', () => {
  const next = randomFrom(SEED);
  const recorder = new HistoryRecorder();
  const lost: string[] = [];
  const failed: string[] = [];
  let server: LockServer;
  let proxies: TcpProxy[];
  let clients: KlockInstance[];
  let asked = 0;
  let stopped = false;

  beforeAll(async () => {
    server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
    await server.start();
    proxies = await Promise.all([1, 2, 3].map(() => TcpProxy.start({ target: { port: server.port } })));
    clients = proxies.map(({ port }, index) => {
      const klock = createKlock({
        ttlMs: 3_000,
        renewEveryMs: 200,
        renewTimeoutMs: 200,
        handover: index !== 1,
        driver: klockDriver({ url: `klock://127.0.0.1:${port}` }),
      });
      klock.on('lock.lost', ({ code }) => lost.push(code));
      return klock;
    });
  });
  afterAll(async () => {
    stopped = true;
    await Promise.all(clients.map((klock) => klock.close({ graceMs: 1 })));
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await server.close({ graceMs: 50 });
  });

  function keyOf(): LockKey {
    const l1 = `t${Math.floor(next() * 3)}`;
    return next() < 0.15 ? [l1] : [l1, `k${Math.floor(next() * 4)}`];
  }

  async function work(klock: KlockInstance, client: string): Promise<void> {
    while (!stopped) {
      asked++;
      const got = await recordLocks(recorder, klock, client, keyOf(), { waitMs: 20_000 }, () =>
        real(next() * 2),
      );
      if (!got) failed.push(client);
    }
  }

  /** Half of the cuts are seen by nobody: the network swallows what is sent, and delivers it later. */
  async function cut(proxy: TcpProxy): Promise<void> {
    if (next() < 0.5) return proxy.reset();
    const direction = (['up', 'down', 'both'] as const)[Math.floor(next() * 3)] ?? 'both';
    proxy.silence(direction, { lost: next() < 0.5 });
    await real(200 + next() * 500);
    proxy.heal();
  }

  it(
    `[I1] [I3] [I5] [I7] [I8] ${CUTS} cuts, reset and silent, half of the old sockets deliver late: no two holders, nothing leaked, every waiter answered${scaleNote(FACTOR)}`,
    async () => {
      const workers = clients.flatMap((klock, index) =>
        Array.from({ length: 6 }, (_, worker) => work(klock, `c${index}.${worker}`)),
      );
      for (let cuts = 0; cuts < CUTS; cuts++) {
        await real(next() * 60);
        await cut(proxies[cuts % proxies.length] as TcpProxy);
      }
      stopped = true;
      await Promise.all(workers);
      expect({ seed: SEED, violations: checkHistory(recorder, { toleranceMs: 2 }) }).toEqual({
        seed: SEED,
        violations: [],
      });
      expect(recorder.grants.length + failed.length).toBe(asked);
      expect({ seed: SEED, failed, lost }).toEqual({ seed: SEED, failed: [], lost: [] });
      await until(
        () => server.stats.locks === 0 && server.stats.waiters === 0 && server.stats.detached === 0,
      );
      expect(recorder.grants.length).toBeGreaterThan(CUTS);
    },
    scaled(1_500_000, FACTOR) + 60_000,
  );
});
