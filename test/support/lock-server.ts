import type { ServerOptions } from '../../lib/server/index.js';
import type { EngineStats } from '../../lib/engine/index.js';
import { Child } from './child.js';
import type { Ended } from './owned-process.js';

export interface LockServerFacts {
  readonly address: string;
  readonly port: number;
  readonly serverId: string;
}

export interface LoggedRecord {
  readonly level: string;
  readonly event: string;
  readonly [fact: string]: unknown;
}

/** A lock server in a process of its own (from dist/), to be killed, stopped and restarted by tests. */
export class LockServerProcess {
  private constructor(
    readonly child: Child,
    readonly facts: LockServerFacts,
  ) {}

  /** Starts one on a free port of 127.0.0.1 unless told otherwise, and waits until it serves. */
  static async start(
    options: ServerOptions = {},
    nodeArgs: readonly string[] = [],
  ): Promise<LockServerProcess> {
    const settings = { address: '127.0.0.1:0', rateLimit: false, ...options };
    const env = { KLOCK_TEST_SERVER: JSON.stringify(settings), NODE_OPTIONS: nodeArgs.join(' ') };
    const child = await Child.start('test/support/lock-server-child.mjs', { env });
    return new LockServerProcess(child, await child.call<LockServerFacts>('facts'));
  }

  get address(): string {
    return this.facts.address;
  }

  /** What the server logged so far. */
  get records(): readonly LoggedRecord[] {
    return this.child.events.filter(({ event }) => event === 'log').map(({ data }) => data as LoggedRecord);
  }

  /** Errors nobody in the server caught. */
  get uncaught(): readonly unknown[] {
    return this.child.events.filter(({ event }) => event === 'uncaught').map(({ data }) => data);
  }

  stats(): Promise<EngineStats> {
    return this.child.call('stats');
  }

  kill(signal?: NodeJS.Signals): Promise<Ended> {
    return this.child.kill(signal);
  }
}
