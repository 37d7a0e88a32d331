import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { portFrom, ttlMsFrom } from '../process/environment.js';
import { Child } from './child.js';
import { ShopClient } from './shop-client.js';

/** A replica that runs: its process and its address. */
export interface Replica {
  readonly child: Child;
  readonly shop: ShopClient;
}

type ReplicaName = 'A' | 'B';

/** Everything that runs: a database, the lock server, two replicas; each in a process of its own. */
export class Stage {
  readonly ttlMs = ttlMsFrom(process.env);
  private readonly folder = mkdtempSync(join(tmpdir(), 'klock-sample-'));
  private readonly port = portFrom(process.env);
  private readonly ending: AbortController;
  private readonly children: Child[] = [];
  private readonly replicas = new Map<ReplicaName, Replica>();
  private databaseUrl = '';
  private lockUrl = '';

  /** @param ending is aborted when a process ends without having been told to. */
  constructor(ending: AbortController) {
    this.ending = ending;
  }

  get a(): Replica {
    return this.replica('A');
  }

  get b(): Replica {
    return this.replica('B');
  }

  async start(): Promise<void> {
    const [databaseUrl, lockUrl] = await Promise.all([this.startDatabase(), this.startLockServer()]);
    this.databaseUrl = databaseUrl;
    this.lockUrl = lockUrl;
    await Promise.all([this.startReplica('A'), this.startReplica('B')]);
  }

  /** Starts a replica, or starts it again after it was killed. */
  async startReplica(name: ReplicaName): Promise<Replica> {
    const settings = {
      REPLICA: `replica-${name.toLowerCase()}`,
      DATABASE_URL: this.databaseUrl,
      KLOCK_URL: this.lockUrl,
      KLOCK_TTL_MS: String(this.ttlMs),
      PORT: String(this.portOf(name)),
    };
    const { child, url } = await this.launch(`replica ${name}`, 'main.js', settings);
    const replica = { child, shop: new ShopClient(url, this.ending.signal) };
    this.replicas.set(name, replica);
    return replica;
  }

  /** The lines that say what runs where. */
  describe(): string[] {
    const places = {
      database: this.databaseUrl,
      'lock server': this.lockUrl,
      'replica A': this.a.shop.url,
      'replica B': this.b.shop.url,
    };
    return Object.entries(places).map(([name, url]) => {
      const child = this.children.findLast((candidate) => candidate.name === name);
      return `${name.padEnd(12)} ${withoutPassword(url)} (${child === undefined ? 'yours' : `process ${child.pid}`})`;
    });
  }

  /** Ends everything in the order of need: who holds locks before the lock server, who writes before the database. */
  async stop(): Promise<void> {
    const replicas = this.children.filter((child) => child.name.startsWith('replica'));
    const others = this.children.filter((child) => !replicas.includes(child));
    await Promise.all(replicas.map((child) => child.stop()));
    await Promise.all(others.map((child) => child.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async startDatabase(): Promise<string> {
    const given = process.env.DATABASE_URL?.trim();
    if (given !== undefined && given !== '') return given;
    return (await this.launch('database', 'database/main.js', {})).url;
  }

  private async startLockServer(): Promise<string> {
    const settings = {
      LOCK_SERVER_ADDR: '127.0.0.1:0',
      // not there yet: the server sees that this is its first start, so nobody can hold anything from before
      LOCK_SERVER_STATE_DIR: join(this.folder, 'locks'),
    };
    return (await this.launch('lock server', 'lock-server/main.js', settings)).url;
  }

  private async launch(name: string, script: string, settings: Readonly<Record<string, string>>) {
    this.ending.signal.throwIfAborted();
    const child = Child.start(name, script, settings);
    this.children.push(child);
    const url = await child.ready(this.ending.signal);
    child.onUnexpectedEnd((error) => this.ending.abort(error));
    return { child, url };
  }

  private portOf(name: ReplicaName): number {
    if (this.port === 0) return 0;
    return name === 'A' ? this.port : this.port + 1;
  }

  private replica(name: ReplicaName): Replica {
    const replica = this.replicas.get(name);
    if (replica === undefined) throw new Error(`replica ${name} does not run`);
    return replica;
  }
}

function withoutPassword(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^:@/]*):[^@/]*@/, '$1:...@');
}
