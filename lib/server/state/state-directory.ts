import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BackendStateError,
  type Clock,
  defaultMarginMs,
  MAX_FENCE,
  quote,
  type Random,
} from '../../core/index.js';
import { DirectorySocket } from './directory-socket.js';
import { OWNER_TIMING, OwnerFile, type OwnerListener, type OwnerTiming } from './owner-file.js';
import { readState, type SavedState, writeState } from './saved-state.js';
import { WriteQueue } from './write-queue.js';

export interface StateDirectoryOptions {
  readonly directory: string;
  readonly firstStart: boolean;
  /** Longest lease a session can get; 0 or less: no maximum. */
  readonly maxLeaseMs: number;
  readonly defaultLeaseMs: number;
  /** Fences reserved at the start. */
  readonly fenceBlock: bigint;
  readonly clock: Clock;
  readonly random: Random;
  readonly timing?: OwnerTiming;
}

/** How a directory was found. */
export type StartKind = 'first' | 'clean' | 'unclean';

/** What a server remembers between its lives, and the proof that this process alone is that server (design D7). */
export class StateDirectory {
  private readonly writes = new WriteQueue();
  /** It is, or may be, somebody else's by now: a late write would undo what its next owner has made durable. */
  private over = false;

  private constructor(
    private readonly path: string,
    private readonly socket: DirectorySocket,
    private readonly owner: OwnerFile,
    readonly start: StartKind,
    /** The largest fence any earlier server may have given out, and up to where this one may. */
    readonly lastFence: bigint,
    /** How long nothing may be granted from the start on; 0 after a clean end. */
    readonly quarantineMs: number,
    private state: SavedState,
    /** How long a lease may be without a write first. */
    private readonly coveredMs: number,
  ) {}

  /** @throws BackendStateError where another server lives in the directory, or its state cannot be understood. */
  static async open(options: StateDirectoryOptions): Promise<StateDirectory> {
    const created = await makeDirectory(options.directory);
    const socket = await DirectorySocket.hold(options.directory);
    let owner: OwnerFile | undefined;
    try {
      owner = await OwnerFile.claim(
        options.directory,
        options.random.id(),
        options.clock,
        options.timing ?? OWNER_TIMING,
      );
      return await StateDirectory.begin(options, created, socket, owner);
    } catch (error) {
      await owner?.release(true);
      await socket.release();
      throw error;
    }
  }

  private static async begin(
    options: StateDirectoryOptions,
    created: boolean,
    socket: DirectorySocket,
    owner: OwnerFile,
  ): Promise<StateDirectory> {
    const { directory, clock, fenceBlock, firstStart, maxLeaseMs, defaultLeaseMs } = options;
    const path = join(directory, 'state.json');
    const found = await readState(path);
    const start = startKind(found, created, firstStart);
    if (found === undefined && start === 'unclean' && maxLeaseMs <= 0) throw unknownLeases(directory);
    const covered = maxLeaseMs > 0 ? maxLeaseMs : Math.max(1, defaultLeaseMs);
    const longest = start === 'unclean' ? Math.max(found?.longestLeaseMs ?? 0, covered) : covered;
    const lastFence = larger(found?.fence ?? 0n, microseconds(clock.wallMs()));
    const fence = smaller(lastFence + fenceBlock, MAX_FENCE);
    const state = { restart: (found?.restart ?? 0) + 1, fence, longestLeaseMs: longest, clean: false };
    // The mark of the clean end goes, and the first fences come, before any client can be answered.
    await writeState(path, state);
    const quarantineMs = start === 'unclean' ? longest + defaultMarginMs(longest) : 0;
    return new StateDirectory(path, socket, owner, start, lastFence, quarantineMs, state, covered);
  }

  /** How many servers have started on this directory, this one included. */
  get restart(): number {
    return this.state.restart;
  }

  /** Fences up to here may be given out. */
  get reservedFence(): bigint {
    return this.state.fence;
  }

  /** Looks after the ownership from now on. */
  watchOwnership(listener: OwnerListener): void {
    this.owner.watch(listener);
  }

  /** Makes fences up to `upTo` durable. @throws the file system's error. */
  reserveFences(upTo: bigint): Promise<void> {
    return this.save((state) => (upTo > state.fence ? { ...state, fence: upTo } : state));
  }

  /** Whether a lease of this length may be granted without {@link coverLease} first. */
  covers(leaseMs: number): boolean {
    return leaseMs <= this.state.longestLeaseMs;
  }

  /** Makes durable that sessions may have a lease this long. @throws the file system's error. */
  coverLease(leaseMs: number): Promise<void> {
    return this.save((state) => (this.covers(leaseMs) ? state : { ...state, longestLeaseMs: leaseMs }));
  }

  /** The leases of earlier servers are over: from now on only this one's count. @param longestMs longest lease this one gave. */
  quarantineEnded(longestMs: number): Promise<void> {
    return this.save((state) => ({ ...state, longestLeaseMs: Math.max(this.coveredMs, longestMs) }));
  }

  /** Ends the ownership; `clean` says that nobody can believe any more to hold a lock of this server. */
  async close(clean: boolean): Promise<void> {
    const last = clean ? this.save((state) => ({ ...state, clean: true })) : this.writes.idle();
    this.over = true;
    try {
      await last;
    } finally {
      await this.owner.release(true);
      await this.socket.release();
    }
  }

  /** Gives everything up without writing: the directory belongs to somebody else. */
  async abandon(): Promise<void> {
    this.over = true;
    // The socket stays as it is until the process ends: closing it would remove the new owner's.
    await this.owner.release(false);
  }

  private save(change: (state: SavedState) => SavedState): Promise<void> {
    if (this.over) return Promise.reject(new BackendStateError('the state directory was given up'));
    return this.writes.run(async () => {
      const next = change(this.state);
      if (next === this.state) return;
      await writeState(this.path, next);
      this.state = next;
    });
  }
}

/** Makes the directory where it is missing; says whether it did, or found it empty of anything a server could have left. */
async function makeDirectory(directory: string): Promise<boolean> {
  try {
    const made = await mkdir(directory, { recursive: true, mode: 0o700 });
    await readdir(directory);
    return made !== undefined;
  } catch (cause) {
    throw new BackendStateError(`state directory ${quote(directory)} cannot be used`, {
      cause,
      code: 'BACKEND_MISCONFIGURED',
    });
  }
}

/**
 * A directory that exists without state counts as an unclean end: an empty volume mounted at each start must not pass
 * for a first start. A state that was found always counts, whatever `firstStart` says.
 */
function startKind(found: SavedState | undefined, created: boolean, firstStart: boolean): StartKind {
  if (found !== undefined) return found.clean ? 'clean' : 'unclean';
  return created || firstStart ? 'first' : 'unclean';
}

function unknownLeases(directory: string): BackendStateError {
  return new BackendStateError(
    `state directory ${quote(directory)} exists without state and maxLeaseMs sets no maximum: nobody can say how long ` +
      'leases of an earlier server may last; set maxLeaseMs, or firstStart if there was none',
    { code: 'BACKEND_MISCONFIGURED' },
  );
}

function microseconds(wallMs: number): bigint {
  return BigInt(Math.floor(wallMs)) * 1_000n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
