import type { GrantRecord, HistoryRecorder } from '../../lib/testing/index.js';
import { Child } from '../support/child.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** How `history-child.mjs` reaches its store. */
export type HistoryDriver =
  | { readonly name: 'klock'; readonly url: string }
  | { readonly name: 'redis'; readonly port: number }
  | { readonly name: 'etcd'; readonly hosts: readonly string[] };

type ToldGrant = Omit<GrantRecord, 'fence'> & { readonly fence: string };

export interface WorkerSettings {
  readonly ttlMs: number;
  /** How many locks it asks for at a time. */
  readonly flows: number;
  /** Ports of the store, one for each member. */
  readonly storePorts: readonly number[];
  /** The driver by the ports of the proxies in front of them. */
  readonly driver: (ports: readonly number[]) => HistoryDriver;
}

/** One client process behind proxies of its own. */
export class HistoryWorker {
  private told = 0;

  private constructor(
    readonly name: string,
    readonly child: Child,
    readonly proxies: readonly TcpProxy[],
    private readonly settings: WorkerSettings,
  ) {}

  static async start(name: string, settings: WorkerSettings): Promise<HistoryWorker> {
    const proxies = await Promise.all(
      settings.storePorts.map((port) => TcpProxy.start({ target: { port } })),
    );
    return HistoryWorker.behind(name, proxies, settings);
  }

  private static async behind(
    name: string,
    proxies: readonly TcpProxy[],
    settings: WorkerSettings,
  ): Promise<HistoryWorker> {
    const { ttlMs, flows, driver } = settings;
    const told = { driver: driver(proxies.map(({ port }) => port)), ttlMs, name };
    const env = { KLOCK_TEST_HISTORY: JSON.stringify(told) };
    const child = await Child.start('test/faults/history-child.mjs', { env });
    await child.call('work', flows);
    return new HistoryWorker(name, child, proxies, settings);
  }

  /** Another process takes the place of this one, which must be dead. */
  successor(): Promise<HistoryWorker> {
    return HistoryWorker.behind(`${this.name}'`, this.proxies, this.settings);
  }

  /** Moves what it has told since the last time into the history. */
  collect(into: HistoryRecorder): void {
    const events = this.child.events.slice(this.told);
    this.told = this.child.events.length;
    for (const { event, data } of events) {
      if (event !== 'grants') continue;
      for (const grant of data as ToldGrant[]) into.grant({ ...grant, fence: BigInt(grant.fence) });
    }
  }

  /** Errors nobody in it caught. */
  get uncaught(): readonly unknown[] {
    return this.child.events.filter(({ event }) => event === 'uncaught').map(({ data }) => data);
  }

  async close(): Promise<void> {
    await this.child.kill();
    for (const proxy of this.proxies) await proxy.stop();
  }
}
