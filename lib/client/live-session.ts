import type { Clock, KeptLease, Timer } from '../core/index.js';
import type { Generation } from '../session/index.js';
import { Hooks } from './hooks.js';
import type { SessionRef } from './lock-service.js';
import { SessionGrants, type SessionGrant } from './session-grants.js';

/** One session of the server while it is current: its lease, what rests on it, and who must hear of its end. */
export class LiveSession implements SessionRef {
  readonly grants = new SessionGrants();
  /** The session's end. */
  readonly over = new Hooks();
  private uses = 0;
  private idleSinceMs = 0;
  private idleTimer: Timer | undefined = undefined;

  constructor(
    readonly sessionId: string,
    readonly serverId: string,
    readonly generation: Generation,
    readonly lease: KeptLease,
    private readonly clock: Clock,
    private readonly idleMs: number,
    private readonly idle: () => void,
  ) {
    this.watchIdle();
  }

  /** Whether grants of it can be believed: read now. */
  get usable(): boolean {
    return !this.over.fired && this.lease.alive;
  }

  /** An operation that needs the session begins; the result ends it. */
  use(): () => void {
    this.begin();
    let used = false;
    return () => {
      if (used) return;
      used = true;
      this.finish();
    };
  }

  /** As {@link use}, for who ends it exactly once by `finish`, without an object for it. */
  begin(): void {
    this.uses++;
  }

  finish(): void {
    this.uses--;
    this.watchIdle();
  }

  /** A grant rests on it. */
  settle(grant: SessionGrant): void {
    this.grants.add(grant);
  }

  /** A grant does not rest on it any more. */
  drop(grant: SessionGrant): void {
    this.grants.remove(grant);
    this.watchIdle();
  }

  /** Stops what runs for it and tells everybody who waits. */
  end(): void {
    this.idleTimer?.cancel();
    this.grants.clear();
    this.over.fire();
  }

  private get inUse(): boolean {
    return this.uses > 0 || this.grants.size > 0;
  }

  /** Called whenever it may have become idle. The timer is left alone meanwhile: it looks when it rings. */
  private watchIdle(): void {
    if (this.inUse || this.over.fired) return;
    this.idleSinceMs = this.clock.monoMs();
    if (this.idleTimer === undefined) this.lookAfter(this.idleMs);
  }

  private lookAfter(ms: number): void {
    this.idleTimer = this.clock.after(ms, () => {
      this.idleTimer = undefined;
      if (this.inUse || this.over.fired) return;
      const leftMs = this.idleSinceMs + this.idleMs - this.clock.monoMs();
      if (leftMs > 0) this.lookAfter(leftMs);
      else this.idle();
    });
  }
}
