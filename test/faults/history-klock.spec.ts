import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkHistory, HistoryRecorder, SeededRandom, type GrantRecord } from '../../lib/testing/index.js';
import { Child } from '../support/child.js';
import { LockServerProcess } from '../support/lock-server.js';
import { scaled, scaleNote } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const TTL_MS = 300;
const CLIENTS = 4;
const WANTED = scaled(20_000, 10);
const LIMIT_MS = scaled(1_200_000, 10);
/** KLOCK_SEED repeats a choice of faults, if not their exact instants. */
const seed = Number(process.env.KLOCK_SEED ?? process.hrtime.bigint() % 1_000_000n);

const real = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
type ToldGrant = Omit<GrantRecord, 'fence'> & { readonly fence: string };

/** One client process behind a proxy of its own. */
class Worker {
  private told = 0;

  private constructor(
    readonly name: string,
    readonly child: Child,
    readonly proxy: TcpProxy,
  ) {}

  static async start(name: string, proxy: TcpProxy): Promise<Worker> {
    const settings = { url: `klock://127.0.0.1:${proxy.port}`, ttlMs: TTL_MS, name };
    const env = { KLOCK_TEST_HISTORY: JSON.stringify(settings) };
    const child = await Child.start('test/faults/history-child.mjs', { env });
    await child.call('work', 3);
    return new Worker(name, child, proxy);
  }

  /** Moves what it has told since the last time into the history; how many grants that were. */
  collect(into: HistoryRecorder): number {
    const events = this.child.events.slice(this.told);
    this.told = this.child.events.length;
    const grants = events
      .filter(({ event }) => event === 'grants')
      .flatMap(({ data }) => data as ToldGrant[]);
    for (const grant of grants) into.grant({ ...grant, fence: BigInt(grant.fence) });
    return grants.length;
  }

  get uncaught(): readonly unknown[] {
    return this.child.events.filter(({ event }) => event === 'uncaught').map(({ data }) => data);
  }
}

describe('client and server processes under rotating faults', () => {
  let folder: string;
  let server: LockServerProcess;
  let port = 0;
  const random = new SeededRandom(seed);
  const workers: Worker[] = [];
  const history = new HistoryRecorder();
  const uncaught: unknown[] = [];
  const struck = new Map<string, number>();

  const startServer = async (): Promise<void> => {
    const address = `127.0.0.1:${port}`;
    server = await LockServerProcess.start({
      address,
      stateDir: join(folder, 'state'),
      maxLeaseMs: TTL_MS,
      defaultLeaseMs: TTL_MS,
      drainMs: 500,
    });
    port = server.facts.port;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'klock-history-'));
    await startServer();
    for (let at = 0; at < CLIENTS; at++) {
      const proxy = await TcpProxy.start({ target: { port } });
      workers.push(await Worker.start(`c${at}`, proxy));
    }
  }, 60_000);

  afterAll(async () => {
    for (const { child, proxy } of workers) {
      await child.kill();
      await proxy.stop();
    }
    await server.kill();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const replace = async (at: number): Promise<void> => {
    const { name, child, proxy } = workers[at] as Worker;
    await child.kill();
    (workers[at] as Worker).collect(history);
    uncaught.push(...(workers[at] as Worker).uncaught);
    workers[at] = await Worker.start(`${name}'`, proxy);
  };

  const faults: Record<string, (worker: Worker, at: number) => Promise<void>> = {
    'SIGSTOP beyond the lease': async ({ child }) => {
      child.pause();
      await real(random.between(1, 2.5) * TTL_MS);
      child.resume();
    },
    SIGKILL: (_, at) => replace(at),
    'event loop blocked': ({ child }) => child.call('block', random.between(0.5, 2) * TTL_MS),
    'silent one way': async ({ proxy }) => {
      proxy.silence(random.pick(['up', 'down']), { lost: random.chance(0.5) });
      await real(random.between(0.3, 2) * TTL_MS);
      proxy.heal();
      proxy.reset();
    },
    'silent both ways': async ({ proxy }) => {
      proxy.silence('both');
      await real(random.between(0.3, 2) * TTL_MS);
      proxy.heal();
    },
    reset: ({ proxy }) => Promise.resolve(proxy.reset()),
    slow: async ({ proxy }) => {
      proxy.setWeather({ latencyMs: random.between(2, 30), jitterMs: 20 });
      await real(3 * TTL_MS);
      proxy.setWeather({ latencyMs: 0, jitterMs: 0 });
    },
    'server SIGSTOP': async () => {
      server.child.pause();
      await real(random.between(0.3, 2) * TTL_MS);
      server.child.resume();
    },
  };

  const collectAll = (): number => workers.reduce((sum, worker) => sum + worker.collect(history), 0);

  const strike = async (): Promise<void> => {
    const names = Object.keys(faults) as [string, ...string[]];
    const what = random.pick(names);
    struck.set(what, (struck.get(what) ?? 0) + 1);
    const at = random.whole(0, CLIENTS - 1);
    await faults[what]?.(workers[at] as Worker, at);
    await real(random.between(50, 250));
    collectAll();
  };

  it(
    `[I1] [I3] [I5] ${WANTED} grants, a server killed and one ended in order among them, breach nothing (seed ${seed})${scaleNote(10)}`,
    async () => {
      const endings: NodeJS.Signals[] = ['SIGKILL', 'SIGTERM'];
      const endMs = performance.now() + LIMIT_MS;
      while (history.grants.length < WANTED || endings.length > 0 || struck.size < 6) {
        if (performance.now() > endMs) throw new Error(`only ${history.grants.length} grants so far`);
        await strike();
        if (endings.length === 0 || history.grants.length < ((3 - endings.length) * WANTED) / 3) continue;
        await server.kill(endings.shift());
        await startServer();
      }
      for (const { child } of workers) await child.call('stop');
      await real(100);
      collectAll();
      for (const worker of workers) uncaught.push(...worker.uncaught);
      const faultsText = [...struck].map(([what, times]) => `${what} ${times}`).join(', ');
      console.log(
        `${history.grants.length} grants; faults: ${faultsText}; the server was killed once and ended once`,
      );
      expect(checkHistory(history, { toleranceMs: 1 })).toEqual([]);
      expect(uncaught).toEqual([]);
    },
    LIMIT_MS + 60_000,
  );
});
