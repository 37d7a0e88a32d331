import type { Clock } from '../../lib/core/index.js';
import { defaultMarginMs, MAX_FENCE } from '../../lib/core/index.js';
import type { StateDirectory, StateDirectoryOptions } from '../../lib/server/state/state-directory.js';

const TOUCH_EVERY_MS = 1_000;

/** What a server's state directory remembers, in the place of `lib/server/state`: the same rules, without files. */
export class SimDisk {
  private fence = 0n;
  private longestLeaseMs = 0;
  private clean = true;
  private used = false;

  constructor(
    private readonly fenceBlock: bigint,
    private readonly writeMs: number,
  ) {}

  /** As found by a server that starts. */
  open({ clock, maxLeaseMs }: StateDirectoryOptions): StateDirectory {
    const unclean = this.used && !this.clean;
    this.used = true;
    this.clean = false;
    const longest = unclean ? Math.max(this.longestLeaseMs, maxLeaseMs) : maxLeaseMs;
    this.longestLeaseMs = longest;
    const now = BigInt(Math.floor(clock.wallMs())) * 1_000n;
    const lastFence = this.fence > now ? this.fence : now;
    const reserved = lastFence + this.fenceBlock;
    this.fence = reserved < MAX_FENCE ? reserved : MAX_FENCE;
    const quarantineMs = unclean ? longest + defaultMarginMs(longest) : 0;
    return this.directory(clock, lastFence, quarantineMs) as unknown as StateDirectory;
  }

  private directory(clock: Clock, lastFence: bigint, quarantineMs: number) {
    return {
      start: quarantineMs > 0 ? 'unclean' : 'clean',
      lastFence,
      reservedFence: this.fence,
      quarantineMs,
      restart: 1,
      reserveFences: (upTo: bigint) =>
        this.write(clock, () => (this.fence = upTo > this.fence ? upTo : this.fence)),
      covers: (leaseMs: number) => leaseMs <= this.longestLeaseMs,
      coverLease: (leaseMs: number) =>
        this.write(clock, () => (this.longestLeaseMs = Math.max(this.longestLeaseMs, leaseMs))),
      quarantineEnded: () => Promise.resolve(),
      watchOwnership: (listener: { onSure(began: ReturnType<Clock['now']>): void }) => {
        const look = (): void => {
          listener.onSure(clock.now());
          clock.after(TOUCH_EVERY_MS, look);
        };
        look();
      },
      close: (clean: boolean) => {
        this.clean = clean;
        return Promise.resolve();
      },
    };
  }

  private write(clock: Clock, change: () => void): Promise<void> {
    return new Promise((resolve) =>
      clock.after(this.writeMs, () => {
        change();
        resolve();
      }),
    );
  }
}
