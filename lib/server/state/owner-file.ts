import { readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pause, BackendStateError, type Clock, type Instant, quote, type Timer } from '../../core/index.js';

/** Spans of the protocol around the `owner` file; tests shorten them all by one factor. */
export interface OwnerTiming {
  /** An owner that touched the file less than this ago may live. */
  readonly freshMs: number;
  /** From writing one's id to believing in it. */
  readonly settleMs: number;
  /** How often the owner looks and touches. */
  readonly touchEveryMs: number;
  /** How long one look allows grants. Shorter than fresh + settle, or a stalled owner could still grant. */
  readonly sureMs: number;
}

export const OWNER_TIMING: OwnerTiming = {
  freshMs: 5_000,
  settleMs: 1_000,
  touchEveryMs: 1_000,
  sureMs: 4_000,
};

export interface OwnerListener {
  /** A look that began at this instant found the file still ours. */
  onSure(began: Instant): void;
  /** Somebody else's id is in the file, or it is gone: this process owns nothing any more. */
  onLost(): void;
  /** A look failed; the next one may succeed. */
  onTrouble(cause: unknown): void;
}

/**
 * Ownership of a directory that several machines may see: a file with a random id per start, since process ids say
 * nothing across machines and restarts.
 */
export class OwnerFile {
  private timer: Timer | undefined = undefined;
  private listener: OwnerListener | undefined = undefined;
  private ended = false;

  private constructor(
    private readonly path: string,
    private readonly id: string,
    private readonly clock: Clock,
    private readonly timing: OwnerTiming,
  ) {}

  /** @throws BackendStateError while another owner lives. */
  static async claim(directory: string, id: string, clock: Clock, timing = OWNER_TIMING): Promise<OwnerFile> {
    const path = join(directory, 'owner');
    const owner = new OwnerFile(path, id, clock, timing);
    await owner.waitForStale();
    await writeFile(path, id, { mode: 0o600 });
    await owner.touch();
    await pause(clock, timing.settleMs);
    if ((await readFile(path, 'utf8').catch(() => '')) !== id) throw owner.inUse();
    return owner;
  }

  /** Looks and touches from now on until {@link release}. */
  watch(listener: OwnerListener): void {
    this.listener = listener;
    void this.look();
  }

  /** Stops looking; removes the file where it is still ours and `remove` is true. */
  async release(remove: boolean): Promise<void> {
    this.ended = true;
    this.timer?.cancel();
    const still = await readFile(this.path, 'utf8').catch(() => '');
    if (remove && still === this.id) await rm(this.path, { force: true });
  }

  /** A fresh mark may be a dead server's last one: it is, if nobody renews it while it goes stale. */
  private async waitForStale(): Promise<void> {
    const before = await this.mark();
    if (before === undefined || this.clock.wallMs() - before.touchedMs >= this.timing.freshMs) return;
    await pause(this.clock, this.timing.freshMs);
    const after = await this.mark();
    if (after !== undefined && (after.id !== before.id || after.touchedMs !== before.touchedMs))
      throw this.inUse();
  }

  private async mark(): Promise<{ readonly id: string; readonly touchedMs: number } | undefined> {
    try {
      return { id: await readFile(this.path, 'utf8'), touchedMs: (await stat(this.path)).mtimeMs };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  private async touch(): Promise<void> {
    const now = this.clock.wallMs() / 1_000;
    await utimes(this.path, now, now);
  }

  private async look(): Promise<void> {
    const began = this.clock.now();
    try {
      const id = await readFile(this.path, 'utf8').catch(emptyIfMissing);
      if (this.ended) return;
      if (id !== this.id) return this.lose();
      await this.touch();
      if (!this.ended) this.listener?.onSure(began);
    } catch (cause) {
      if (!this.ended) this.listener?.onTrouble(cause);
    }
    if (!this.ended) this.timer = this.clock.after(this.timing.touchEveryMs, () => void this.look());
  }

  private lose(): void {
    this.ended = true;
    this.listener?.onLost();
  }

  private inUse(): BackendStateError {
    return new BackendStateError(`state directory of ${quote(this.path)} is in use by another server`, {
      code: 'BACKEND_MISCONFIGURED',
    });
  }
}

function emptyIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return '';
  throw error;
}
