import { type Clock, defaultMarginMs, MAX_FENCE, type Random, type Timer } from '../core/index.js';
import type { EngineCommand, EngineOptions } from '../engine/index.js';
import type { EngineHost } from './engine-host.js';
import type { ServerSettings } from './server-options.js';
import { causeText, type ServerLog } from './server-log.js';
import { OWNER_TIMING, type OwnerTiming } from './state/owner-file.js';
import { StateDirectory } from './state/state-directory.js';

/** Fences reserved with one write: 40 seconds of 100,000 grants each. */
const FENCE_BLOCK = 2n ** 22n;

export interface RestartGuardParts {
  readonly settings: ServerSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
  readonly timing?: OwnerTiming;
}

/** Keeps two lives of one server from granting one lock: fences, quarantine and ownership across restarts (design D6, D7). */
export class RestartGuard {
  private readonly startedMs: number;
  private quarantineUntilMs: number;
  private sureUntilWallMs = Infinity;
  private host: EngineHost | undefined = undefined;
  private lost = false;
  private quarantineTimer: Timer | undefined = undefined;

  private constructor(
    private readonly parts: RestartGuardParts,
    /** What survives restarts; undefined where nothing was configured to. */
    readonly state: StateDirectory | undefined,
    quarantineMs: number,
  ) {
    this.startedMs = parts.clock.monoMs();
    this.quarantineUntilMs = quarantineMs > 0 ? this.startedMs + quarantineMs : 0;
  }

  /** @throws BackendStateError where the directory is in use or its state damaged. */
  static async open(parts: RestartGuardParts): Promise<RestartGuard> {
    const { settings, clock, random, timing } = parts;
    const { stateDir, firstStart, maxLeaseMs, defaultLeaseMs } = settings;
    if (stateDir === undefined) return new RestartGuard(parts, undefined, quarantineWithoutState(parts));
    const state = await StateDirectory.open({
      directory: stateDir,
      firstStart,
      maxLeaseMs,
      defaultLeaseMs,
      fenceBlock: FENCE_BLOCK,
      clock,
      random,
      ...(timing === undefined ? undefined : { timing }),
    });
    return new RestartGuard(parts, state, state.quarantineMs);
  }

  get quarantined(): boolean {
    return this.parts.clock.monoMs() < this.quarantineUntilMs;
  }

  /** How long the quarantine lasts from now; 0 for none. */
  get quarantineLeftMs(): number {
    return Math.max(0, this.quarantineUntilMs - this.parts.clock.monoMs());
  }

  fences(): Pick<EngineOptions, 'lastFence' | 'reservedFence' | 'fenceBlock'> {
    const { state } = this;
    if (state !== undefined) {
      return { lastFence: state.lastFence, reservedFence: state.reservedFence, fenceBlock: FENCE_BLOCK };
    }
    return { lastFence: BigInt(Math.floor(this.parts.clock.wallMs())) * 1_000n, reservedFence: MAX_FENCE };
  }

  reserveFences(upTo: bigint): Promise<void> {
    return this.state?.reserveFences(upTo) ?? Promise.resolve();
  }

  /**
   * Lets the engine grant as soon as, and only while, that is safe. Resolves once ownership was confirmed.
   * @param onLost another server has taken the directory: this one must end.
   */
  guard(host: EngineHost, longestLease: () => number, onLost: () => void): Promise<void> {
    this.host = host;
    host.apply({ type: 'hold-grants', untilMs: this.quarantineUntilMs });
    if (this.quarantineUntilMs > 0) this.endQuarantineLater(longestLease);
    return this.watchOwnership(onLost);
  }

  /** @param clean nobody can believe any more to hold a lock of this server. */
  async close(clean: boolean): Promise<void> {
    this.quarantineTimer?.cancel();
    if (this.lost) return await this.state?.abandon();
    await this.state?.close(clean && !this.quarantined);
  }

  private endQuarantineLater(longestLease: () => number): void {
    const { clock, log } = this.parts;
    this.quarantineTimer = clock.after(this.quarantineLeftMs, () => {
      log.write('info', 'quarantine_ended', { after_ms: Math.round(clock.monoMs() - this.startedMs) });
      // A process that was stopped meanwhile must not write over what another owner of the directory has made durable.
      if (this.unsure() !== undefined) return;
      void this.state?.quarantineEnded(longestLease()).catch((cause: unknown) => {
        log.write('error', 'state_write_failed', { cause: causeText(cause) });
      });
    });
  }

  private watchOwnership(onLost: () => void): Promise<void> {
    const { state } = this;
    if (state === undefined || this.host === undefined) return Promise.resolve();
    this.sureUntilWallMs = 0;
    this.host.setGate(() => this.unsure());
    const sureMs = (this.parts.timing ?? OWNER_TIMING).sureMs;
    return new Promise((resolve) => {
      state.watchOwnership({
        onSure: (began) => {
          this.sureUntilWallMs = began.wallMs + sureMs;
          const onlyUntilMs = began.monoMs + sureMs;
          this.host?.apply({ type: 'hold-grants', untilMs: this.quarantineUntilMs, onlyUntilMs });
          resolve();
        },
        onLost: () => {
          this.lost = true;
          this.sureUntilWallMs = 0;
          onLost();
          resolve();
        },
        onTrouble: (cause) => this.parts.log.write('error', 'ownership_unclear', { cause: causeText(cause) }),
      });
    });
  }

  /** The engine itself looks at the monotonic clock; a machine that slept shows only on the wall clock. */
  private unsure(): EngineCommand | undefined {
    return this.parts.clock.wallMs() < this.sureUntilWallMs
      ? undefined
      : { type: 'hold-grants', untilMs: Infinity };
  }
}

function quarantineWithoutState({ settings, log }: RestartGuardParts): number {
  const { production, firstStart, maxLeaseMs } = settings;
  if (firstStart) return 0;
  if (production) return maxLeaseMs + defaultMarginMs(maxLeaseMs);
  log.write('warn', 'no_state_directory', {
    message:
      'without stateDir a crash is forgotten: a server started again at once grants locks that clients of the one before ' +
      'still believe to hold, for up to their lease',
  });
  return 0;
}
