import type { AcquireOptions, InstanceOptions, KeyInput } from '../../lib/core/index.js';
import type { KlockDriverOptions } from '../../lib/drivers/klock/index.js';
import { Child } from './child.js';

export interface ClientProcessOptions {
  readonly instance?: InstanceOptions;
  readonly driver?: Partial<KlockDriverOptions>;
  readonly nodeArgs?: readonly string[];
  readonly throwingListener?: boolean;
}

/** What the process believes of one of its locks. */
export interface LockView {
  readonly held: boolean;
  readonly remainingMs: number;
  readonly aborted: boolean;
  readonly reason?: string;
}

export interface LostFacts {
  readonly reason: string;
  readonly code: string;
  readonly fence: string;
}

/** A klock client in a process of its own (from dist/), to be killed, stopped and blocked by tests. */
export class ClientProcess {
  private constructor(readonly child: Child) {}

  static async start(url: string, options: ClientProcessOptions = {}): Promise<ClientProcess> {
    const { instance, driver, nodeArgs = [], throwingListener = false } = options;
    const env = {
      KLOCK_TEST_CLIENT: JSON.stringify({ url, driver, instance }),
      KLOCK_TEST_THROWING_LISTENER: throwingListener ? '1' : '0',
      NODE_OPTIONS: nodeArgs.join(' '),
    };
    return new ClientProcess(await Child.start('test/support/client-child.mjs', { env }));
  }

  acquire(
    id: string,
    key: KeyInput,
    options: AcquireOptions = {},
  ): Promise<{ fence: string; token: string }> {
    return this.child.call('acquire', id, key, options);
  }

  view(id: string): Promise<LockView> {
    return this.child.call('view', id);
  }

  release(id: string): Promise<string> {
    return this.child.call('release', id);
  }

  /** Spins for `ms` without a turn of the event loop, and tells what it believes right after, in the same turn. */
  block(id: string, ms: number): Promise<LockView & { thrown?: { code: string; reason: string } }> {
    return this.child.call('block', id, ms);
  }

  get lost(): readonly LostFacts[] {
    return this.child.events.filter(({ event }) => event === 'lost').map(({ data }) => data as LostFacts);
  }

  /** Errors nobody in the process caught. */
  get uncaught(): readonly unknown[] {
    return this.child.events.filter(({ event }) => event === 'uncaught').map(({ data }) => data);
  }

  /** What it believed in its first turn after each pause. */
  get wakes(): readonly Readonly<Record<string, LockView>>[] {
    return this.child.events
      .filter(({ event }) => event === 'woke')
      .map(({ data }) => data as Record<string, LockView>);
  }
}
