import {
  createKlock,
  type Capabilities,
  type InstanceOptions,
  type KlockInstance,
  type LockDriver,
} from '../../core/index.js';

/** One back end as the contract suite meets it. */
export interface DriverHarness {
  /** As it stands in titles and in the printed table. */
  readonly name: string;
  /** A lease short enough to wait for and long enough for the store: 300 ms, where the store's leases allow. */
  readonly ttlMs: number;
  /** What the driver declares; the suite holds it to that. */
  readonly capabilities: Capabilities;
  /** Called once before the first case. */
  start?(): Promise<void>;
  /** A new driver, a client of its own, of the same store each time. */
  open(): Promise<LockDriver> | LockDriver;
  /** Called once after the last case. */
  stop?(): Promise<void>;
}

/** The four functions of a test runner that the suite uses: Jest's, Vitest's and node:test's fit. */
export interface TestRunner {
  describe(title: string, body: () => void): void;
  it(title: string, body: () => Promise<void>, timeoutMs?: number): void;
  beforeAll(body: () => Promise<void>): void;
  afterAll(body: () => Promise<void>): void;
}

/** Instances of one case, closed at its end, whatever happened. */
export class Clients implements AsyncDisposable {
  private readonly opened: KlockInstance[] = [];
  private static keys = 0;

  constructor(readonly harness: DriverHarness) {}

  /** One more client of the store, with the harness's ttl unless told otherwise. */
  async client(options: InstanceOptions = {}): Promise<KlockInstance> {
    const klock = createKlock({ ttlMs: this.harness.ttlMs, ...options, driver: await this.harness.open() });
    this.opened.push(klock);
    return klock;
  }

  /** A key nobody used before in this process. */
  key(): string {
    return `contract-${process.pid}-${++Clients.keys}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.opened.map((klock) => klock.close({ graceMs: 1 })));
  }
}

/** One thing every driver owes. */
export interface ContractCase {
  /** States condition and outcome, with the ids it proves. */
  readonly title: string;
  /** Left out unless the driver claims it. */
  readonly needs?: (capabilities: Capabilities) => boolean;
  run(clients: Clients): Promise<void>;
}
