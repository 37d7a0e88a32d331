import type { Clock, DriverGrant, KeptLease, Timer } from '../core/index.js';
import type { Generation } from '../session/index.js';
import { Hooks } from './hooks.js';
import type { SessionRef } from './lock-service.js';

/** One session of the server while it is current: its lease, what rests on it, and who must hear of its end. */
export class LiveSession implements SessionRef {
  /** Grants by token. */
  readonly grants = new Map<string, DriverGrant>();
  /** The session's end. */
  readonly over = new Hooks();
  private uses = 0;
  private idleTimer: Timer | undefined;

  constructor(
    readonly sessionId: string,
    readonly serverId: string,
    readonly generation: Generation,
    readonly lease: KeptLease,
    private readonly clock: Clock,
    private readonly idleMs: number,
    private readonly idle: () => void,
  ) {
    this.armIdle();
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
    this.idleTimer?.cancel();
    this.idleTimer = undefined;
  }

  finish(): void {
    this.uses--;
    this.armIdle();
  }

  /** A grant rests on it. */
  settle(grant: DriverGrant): void {
    this.grants.set(grant.token, grant);
    this.idleTimer?.cancel();
  }

  /** A grant does not rest on it any more. */
  drop(grant: DriverGrant): void {
    if (this.grants.get(grant.token) === grant) this.grants.delete(grant.token);
    this.armIdle();
  }

  /** Stops what runs for it and tells everybody who waits. */
  end(): void {
    this.idleTimer?.cancel();
    this.grants.clear();
    this.over.fire();
  }

  private armIdle(): void {
    this.idleTimer?.cancel();
    this.idleTimer = undefined;
    if (this.uses > 0 || this.grants.size > 0 || this.over.fired) return;
    this.idleTimer = this.clock.after(this.idleMs, () => {
      if (!this.over.fired && this.uses === 0 && this.grants.size === 0) this.idle();
    });
  }
}
