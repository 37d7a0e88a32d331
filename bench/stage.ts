import { Child } from './children/child.js';
import { cpuMsOf } from './children/cpu-of.js';
import { loadContender, type Addresses, type ContenderName } from './contenders/index.js';
import { messageOf } from './loads/sample.js';
import { startEtcd, startRedis } from './servers/stores.js';

type Need = keyof Addresses;

interface Started {
  readonly address: string;
  readonly pid: number;
}

/**
 * For every client and server alike: with thousands of requests under way, what Node's default of 16 MB holds is full before
 * they are answered, and is copied instead of forgotten.
 */
const NODE_ARGS = ['--max-semi-space-size=64'];

/** The servers of a run and the processes that load them, each started when first needed. */
export class Stage {
  private readonly servers = new Map<Need, Promise<Started>>();
  private readonly children: Child[] = [];
  private readonly clients = new Map<string, Promise<Child>>();
  private readonly stores: { stop(): void }[] = [];

  /** @throws Error saying why it could not be started. */
  server(need: Need): Promise<Started> {
    let started = this.servers.get(need);
    if (started === undefined) this.servers.set(need, (started = this.startServer(need)));
    return started;
  }

  /** The process `index` of a contender, its client open. @throws Error saying why there is none. */
  client(name: ContenderName, index = 0): Promise<Child> {
    const id = `${name} ${index}`;
    let client = this.clients.get(id);
    if (client === undefined) this.clients.set(id, (client = this.openClient(name)));
    return client;
  }

  /** Starts the first processes of contenders at the same time, since most of a start is waiting. One that fails says so when it is used. */
  async open(names: readonly ContenderName[]): Promise<void> {
    await Promise.allSettled(names.map((name) => this.client(name)));
  }

  /** Another process for clients of one's own making; it ends with the stage or when closed. */
  newChild(program: string, args: readonly string[] = [], nodeArgs: readonly string[] = []): Child {
    const child = Child.start(program, args, nodeArgs);
    this.children.push(child);
    return child;
  }

  /** CPU time of a server so far; undefined where the system does not tell. */
  async serverCpuMs(need: Need): Promise<number | undefined> {
    return cpuMsOf((await this.server(need)).pid);
  }

  async close(): Promise<void> {
    await Promise.all(this.children.map((child) => child.close()));
    for (const store of this.stores) store.stop();
  }

  private async openClient(name: ContenderName): Promise<Child> {
    const { needs } = await loadContender(name);
    const { address } = await this.server(needs);
    const child = this.newChild('load-child.js', [name], NODE_ARGS);
    await child.call('open', name, { [needs]: address });
    return child;
  }

  private async startServer(need: Need): Promise<Started> {
    if (need === 'redis' || need === 'etcd') {
      const store = await (need === 'redis' ? startRedis() : startEtcd()).catch((error: unknown) => {
        throw new Error(`no ${need}: ${messageOf(error)}`);
      });
      this.stores.push(store);
      return store;
    }
    const program = need === 'echo' ? 'servers/echo-server.js' : 'servers/klock-server.js';
    const child = this.newChild(program, need === 'sixRpc' ? ['--six-rpc'] : [], NODE_ARGS);
    return { address: await child.call<string>('start'), pid: child.pid };
  }
}
