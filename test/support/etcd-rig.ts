import { createKlock, type InstanceOptions, type KlockInstance } from 'klock/core';
import { etcdDriver, type EtcdOptions } from 'klock/etcd';
import { EtcdDriver } from '../../lib/drivers/etcd/etcd-driver.js';
import { resolveEtcdOptions } from '../../lib/drivers/etcd/etcd-options.js';
import { GrpcTransport } from '../../lib/drivers/etcd/grpc-transport.js';
import { EtcdAdmin } from './etcd-admin.js';
import { FaultyTransport } from './etcd-transport.js';
import { startEtcd, type EtcdCluster } from './services/index.js';

/** A cluster for one spec file and the clients opened on it, closed after each test. */
export class EtcdRig {
  etcd!: EtcdCluster;
  admin!: EtcdAdmin;
  private readonly opened: KlockInstance[] = [];
  private static keys = 0;

  async start(members: 1 | 3 = 1): Promise<void> {
    this.etcd = await startEtcd({ members });
    this.admin = new EtcdAdmin(this.etcd.endpoints[0]!);
  }

  async stop(): Promise<void> {
    await this.closeAll();
    await this.etcd.stop();
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.opened.splice(0).map((klock) => klock.close({ graceMs: 1 })));
  }

  /** One more client; leases of 2 s unless told otherwise. */
  client(options: InstanceOptions = {}, etcd: Partial<EtcdOptions> = {}): KlockInstance {
    const driver = etcdDriver({ hosts: this.etcd.endpoints, ...etcd });
    return this.keep(createKlock({ ttlMs: 2_000, ...options, driver }));
  }

  /** A client whose single calls can be lost, doubled and delayed. Nothing stands between it and its store. */
  faultyClient(options: InstanceOptions = {}): { klock: KlockInstance; net: FaultyTransport } {
    // Short calls: what is lost here is lost at once, and nobody shall wait long for it.
    const settings = resolveEtcdOptions({ hosts: this.etcd.endpoints, callTimeoutMs: 400 });
    let net: FaultyTransport | undefined;
    const driver = new EtcdDriver(settings, (host) => {
      net = new FaultyTransport(new GrpcTransport(settings, host.clock));
      return net;
    });
    const klock = this.keep(createKlock({ ttlMs: 2_000, ...options, driver }));
    return { klock, net: net! };
  }

  key(): string {
    return `key-${++EtcdRig.keys}`;
  }

  /** The entries of a key, as etcd has them. */
  async entries(key: string): Promise<string[]> {
    return await this.admin.keys(`klock/q/${encodeURIComponent(key)}/`);
  }

  private keep(klock: KlockInstance): KlockInstance {
    this.opened.push(klock);
    return klock;
  }
}

/** The error a promise rejects with; undefined if it resolves. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until `probe` says true, at most `ms`; the time it took. */
export async function until(
  probe: () => boolean | Promise<boolean>,
  ms: number,
  what: string,
): Promise<number> {
  const startMs = performance.now();
  while (!(await probe())) {
    if (performance.now() - startMs > ms) throw new Error(`not within ${ms} ms: ${what}`);
    await pause(5);
  }
  return performance.now() - startMs;
}
