import {
  LOSS_CODES,
  FakeClock,
  createKlock,
  optionError,
  systemRandom,
  type InstanceOptions,
  type KlockInstance,
  type LockHandle,
  type LossReason,
} from '../core/index.js';
import { MemoryStore } from '../drivers/memory/index.js';
import { TestKlockDriver, type DroppedCall } from './test-klock-driver.js';

/** Options of an instance, and its name. */
export type TestKlockOptions = InstanceOptions & { readonly name?: string };

/** Time and store that several {@link TestKlock} share. */
interface World {
  readonly clock: FakeClock;
  readonly store: MemoryStore;
}

/**
 * Locks for unit tests: the real rules over a store in this process, on a clock that only the test moves, with losses and
 * lost replies at will. Hand `klock` to the code under test.
 *
 * Nothing expires and no wait runs out until `advance` is called; grants and releases need no time.
 */
export class TestKlock implements AsyncDisposable {
  readonly klock: KlockInstance;
  private readonly driver: TestKlockDriver;

  /** @throws InvalidOptionError as `createKlock`. */
  constructor(
    private readonly options: TestKlockOptions = {},
    private readonly world: World = newWorld(),
  ) {
    this.driver = new TestKlockDriver(world.store);
    this.klock = createKlock({ ...options, driver: this.driver, clock: world.clock });
  }

  /** The clock of all time in `klock`: two clocks that stand still until they are moved. */
  get clock(): FakeClock {
    return this.world.clock;
  }

  /** Another client of the same store and time, as another replica would be. Its faults are its own. */
  another(options: TestKlockOptions = this.options): TestKlock {
    return new TestKlock(options, this.world);
  }

  /** Lets `ms` pass: timers fire in order, and what waits for them settles. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /**
   * The store takes a lock away: its handle is lost in this call, and the key is free.
   * @param reason what the handle says; default `session-gone`.
   * @throws InvalidOptionError for a handle that `klock` did not give out or that has ended.
   */
  lose(handle: LockHandle, reason: LossReason = 'session-gone'): void {
    if (this.driver.lose(handle, reason, LOSS_CODES[reason])) return;
    throw optionError('handle', 'held through this TestKlock', handle.key);
  }

  /** From now on no renewal is answered: jeopardy first, and loss once enough time has passed. */
  pauseRenewals(): void {
    this.driver.renewalsPaused = true;
  }

  resumeRenewals(): void {
    this.driver.renewalsPaused = false;
  }

  /**
   * The store carries out the next call, and its answer is lost: an acquire rejects with LockUnavailableError and leaves
   * nothing behind, a release ends as `unknown` and frees the key, a renewal counts as failed.
   * @param call default: whichever comes next.
   */
  dropNextReply(call: DroppedCall | 'any' = 'any'): void {
    this.driver.dropNext = call;
  }

  /** Closes `klock` at once, whatever still runs. */
  async close(): Promise<void> {
    let closed = false;
    const closing = this.klock.close({ graceMs: 1 }).then(() => (closed = true));
    // Time stands still, and some of what closing does has a limit in time only.
    while (!closed) await this.clock.advance(1_000);
    await closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function newWorld(): World {
  const clock = new FakeClock();
  return { clock, store: new MemoryStore(clock, systemRandom) };
}
