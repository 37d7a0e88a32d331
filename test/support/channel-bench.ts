import { createKlock, type InstanceOptions, type KlockInstance } from '../../lib/core/index.js';
import { klockDriver } from '../../lib/drivers/klock/index.js';
import { LockServer, type ServerOptions } from '../../lib/server/index.js';

/** What a spec of the channel opens, and closes again after each test, the last first. */
export class ChannelBench {
  private readonly ends: (() => unknown)[] = [];

  /** @param defaults of every client; each may differ. */
  constructor(private readonly defaults: InstanceOptions = {}) {
    afterEach(async () => {
      for (const end of this.ends.splice(0).reverse()) await end();
    });
  }

  /** Called after the test. */
  onEnd(end: () => unknown): void {
    this.ends.push(end);
  }

  /** A lock server on a free port. */
  async lockServer(options: ServerOptions = {}): Promise<LockServer> {
    const server = new LockServer({ address: '127.0.0.1:0', rateLimit: false, ...options });
    await server.start();
    this.onEnd(() => server.close({ graceMs: 50 }));
    return server;
  }

  /** A client of whatever listens on this port. */
  client(port: number, options: InstanceOptions = {}): KlockInstance {
    const driver = klockDriver({ url: `klock://127.0.0.1:${port}` });
    const klock = createKlock({ ...this.defaults, ...options, driver });
    this.onEnd(() => klock.close({ graceMs: 1 }));
    return klock;
  }
}
