import {
  createKlock,
  isLockError,
  type AcquireOptions,
  type KlockInstance,
  type LockKey,
} from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer } from '../../lib/server/index.js';
import { checkHistory, HistoryRecorder, recordLocks } from '../../lib/testing/history/index.js';
import { real, until } from '../support/client-rig.js';
import { scaled, scaleNote } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const FACTOR = 25;
const CUTS = scaled(1_000, FACTOR);
const SEED = Number(process.env.KLOCK_TEST_SEED ?? Date.now() % 100_000);
const WORKERS = 6;

function randomFrom(seed: number): () => number {
  let state = seed + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** What was asked, and how each of it ended. */
interface Ends {
  asked: number;
  granted: number;
  refused: number;
  aborted: number;
  reported: number;
  readonly failed: string[];
}

describe('streams cut under load', () => {
  const next = randomFrom(SEED);
  const recorder = new HistoryRecorder();
  const lost: string[] = [];
  const ends: Ends = { asked: 0, granted: 0, refused: 0, aborted: 0, reported: 0, failed: [] };
  const cuts = { reset: 0, silent: 0, oldAlive: 0, lateBytes: 0 };
  let server: LockServer;
  let proxies: TcpProxy[];
  let clients: KlockInstance[];
  let stopped = false;

  beforeAll(async () => {
    server = new LockServer({ address: '127.0.0.1:0', rateLimit: false });
    await server.start();
    proxies = await Promise.all([1, 2, 3].map(() => TcpProxy.start({ target: { port: server.port } })));
    clients = proxies.map(({ port }, index) => {
      const klock = createKlock({
        ttlMs: 6_000,
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
      ends.asked++;
      const dice = next();
      if (dice < 0.1) await inspect(klock, client);
      else if (dice < 0.3) await abortedSoon(klock, client);
      else await hold(klock, client, dice < 0.4 ? { waitMs: 0 } : { waitMs: 60_000 });
    }
  }

  async function hold(klock: KlockInstance, client: string, options: AcquireOptions): Promise<void> {
    let code = '';
    const told: KlockInstance['acquire'] = async (key, given) => {
      try {
        return await klock.acquire(key, given);
      } catch (error) {
        if (isLockError(error)) code = error.code;
        throw error;
      }
    };
    const section = (): Promise<void> => real(next() * 2);
    const got = await recordLocks(recorder, { ...klock, acquire: told }, client, keyOf(), options, section);
    if (got) ends.granted++;
    else if (code === 'LOCK_ABORTED' && options.signal?.aborted === true) ends.aborted++;
    // Asked once: taken, or nobody could be asked in time.
    else if (/LOCK_TIMEOUT|LOCK_UNAVAILABLE/.test(code) && options.waitMs === 0) ends.refused++;
    else ends.failed.push(`${client}: ${code}`);
  }

  async function abortedSoon(klock: KlockInstance, client: string): Promise<void> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), next() * 40);
    await hold(klock, client, { waitMs: 60_000, signal: controller.signal });
    clearTimeout(timer);
  }

  async function inspect(klock: KlockInstance, client: string): Promise<void> {
    try {
      await klock.inspect(keyOf());
      ends.reported++;
    } catch (error) {
      // A question is not asked for longer than its own time: it is answered, if only by that.
      if (isLockError(error, 'LOCK_UNAVAILABLE')) ends.reported++;
      else ends.failed.push(`${client}: ${String(error)}`);
    }
  }

  /** The whole path is silent for a while; what was lost with it is reset then. */
  async function goSilent(proxy: TcpProxy): Promise<void> {
    const direction = (['up', 'down', 'both'] as const)[Math.floor(next() * 3)] ?? 'both';
    proxy.silence(direction, { lost: true });
    await real(200 + next() * 500);
    proxy.heal();
  }

  /** The client goes on over a new connection; at the server the old one stays, and brings late what had been sent. */
  async function strand(proxy: TcpProxy, seen: 'reset' | 'silent'): Promise<void> {
    cuts.oldAlive++;
    const stranded = proxy.strand();
    await real(next() * 30);
    if (seen === 'reset') stranded.breakOff();
    const late = async (ms: number): Promise<void> => {
      await real(ms);
      cuts.lateBytes += stranded.deliver();
      await real(50);
      stranded.end();
    };
    if (seen === 'silent') await late(300 + next() * 2_000);
    else pendingLate.push(late(next() * 1_000));
  }
  const pendingLate: Promise<void>[] = [];

  async function cut(proxy: TcpProxy): Promise<void> {
    const [silent, oldAlive] = [next() < 0.5, next() < 0.5];
    if (silent) cuts.silent++;
    else cuts.reset++;
    if (oldAlive) return strand(proxy, silent ? 'silent' : 'reset');
    if (silent) return goSilent(proxy);
    proxy.reset();
  }

  async function cutOften(proxy: TcpProxy, times: number): Promise<void> {
    for (let done = 0; done < times; done++) {
      await real(next() * 60);
      await cut(proxy);
    }
  }

  it(
    `[I1] [I3] [I5] [I7] [I8] ${CUTS} cuts, reset and silent, half of the old sockets deliver late: no two holders, nothing leaked, every waiter answered${scaleNote(FACTOR)}`,
    async () => {
      const workers = clients.flatMap((klock, index) =>
        Array.from({ length: WORKERS }, (_, worker) => work(klock, `c${index}.${worker}`)),
      );
      await Promise.all(proxies.map((proxy) => cutOften(proxy, Math.ceil(CUTS / proxies.length))));
      await Promise.all(pendingLate);
      stopped = true;
      await Promise.all(workers);
      expect({ seed: SEED, violations: checkHistory(recorder, { toleranceMs: 2 }) }).toEqual({
        seed: SEED,
        violations: [],
      });
      const { asked, granted, refused, aborted, reported, failed } = ends;
      expect({ seed: SEED, failed, lost }).toEqual({ seed: SEED, failed: [], lost: [] });
      expect(granted + refused + aborted + reported).toBe(asked);
      expect(recorder.grants).toHaveLength(granted);
      await until(
        () => server.stats.locks === 0 && server.stats.waiters === 0 && server.stats.detached === 0,
      );
      // The run was what it claims to be.
      expect(Math.min(cuts.reset, cuts.silent, cuts.oldAlive)).toBeGreaterThan(CUTS / 5);
      expect(cuts.lateBytes).toBeGreaterThan(0);
      expect(granted).toBeGreaterThan(CUTS);
      await Promise.all(clients.map((klock) => klock.close({ graceMs: 1 })));
      await until(() => server.stats.sessions === 0, 20_000);
      if (process.env.KLOCK_LONG === '1') console.info(JSON.stringify({ seed: SEED, cuts, ...ends }));
    },
    scaled(1_500_000, FACTOR) + 60_000,
  );
});
