import type { Clock, Random, Timer } from '../core/index.js';
import type { ServerEvent } from '../rpc/index.js';
import {
  endByWatch,
  PROTOCOL_END,
  WATCH_LOST_END,
  WatchState,
  type SessionEnd,
  type TransportStatus,
} from '../session/index.js';
import { PROTOCOL_VERSION } from '../rpc/index.js';
import type { LiveSession } from './live-session.js';
import type { LockService } from './lock-service.js';
import type { WatchStream } from './watch-stream.js';

/** While there is no watch, the server is asked this many times within a lease whether the session lives. */
const BEATS_PER_LEASE = 6;
/** Beats without a watch are never closer than this. */
const MIN_BEAT_MS = 50;

export interface WatchHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly service: LockService;
  /** The watch says that the session is over. */
  over(session: LiveSession, end: SessionEnd): void;
  serverSeen(session: LiveSession, serverId: string): void;
  /** Asks whether the session lives; acts on a definite no. */
  beat(session: LiveSession, timeoutMs: number): Promise<void>;
  /** Known about the watch for as long as the client lives. */
  unsupported(): void;
}

/** Keeps a watch on one session for as long as it lives. A hint: without it the end is only noticed later (WK-23). */
export class SessionWatch {
  private readonly state: WatchState;
  private stream: WatchStream | undefined = undefined;
  private timer: Timer | undefined = undefined;
  private beatTimer: Timer | undefined = undefined;

  constructor(
    private readonly session: LiveSession,
    private readonly host: WatchHost,
    strict: boolean,
  ) {
    this.state = new WatchState(strict);
    session.over.on(() => this.stop());
    void this.open();
  }

  private stop(): void {
    this.stream?.close();
    this.timer?.cancel();
    this.beatTimer?.cancel();
  }

  private async open(): Promise<void> {
    const link = await this.host.service.link(this.session.lease.ms);
    if (this.session.over.fired) return;
    if ('kind' in link) return this.dropped(undefined);
    this.stream = this.host.service.watch(link, this.session.sessionId, {
      event: (event) => this.event(event),
      ended: (status) => this.dropped(status),
    });
  }

  private event(event: ServerEvent): void {
    switch (event.type) {
      case 'WATCH_ESTABLISHED':
        this.confirmed(event);
        break;
      case 'SESSION_INVALIDATED':
        this.host.over(this.session, endByWatch(event.code, event.message));
        break;
      case 'PROTOCOL_MISMATCH':
        this.host.over(this.session, PROTOCOL_END);
        break;
      default:
      // A newer server may tell more than we understand.
    }
  }

  private confirmed(event: ServerEvent): void {
    if (event.protocolVersion !== PROTOCOL_VERSION) return this.host.over(this.session, PROTOCOL_END);
    this.host.serverSeen(this.session, event.serverId);
    if (this.session.over.fired) return;
    this.state.confirmed(this.host.clock.monoMs());
    this.beatTimer?.cancel();
    this.beatTimer = undefined;
  }

  private dropped(status: TransportStatus | undefined): void {
    if (this.session.over.fired) return;
    this.stream = undefined;
    const { clock, random } = this.host;
    const step = this.state.dropped(status === 'UNIMPLEMENTED', clock.monoMs(), random.fraction());
    if (step.next === 'give-up') return this.host.over(this.session, WATCH_LOST_END);
    this.beatSoon();
    if (step.next === 'do-without') return this.host.unsupported();
    this.timer = clock.after(step.pauseMs, () => void this.open());
  }

  /** Between the keeper's renewals: earlier notice of an end that nobody announces. Moves no deadline. */
  private beatSoon(): void {
    if (this.beatTimer !== undefined || this.session.over.fired) return;
    const everyMs = Math.max(MIN_BEAT_MS, this.session.lease.ms / BEATS_PER_LEASE);
    this.beatTimer = this.host.clock.after(everyMs, () => {
      void this.host.beat(this.session, everyMs).then(() => {
        this.beatTimer = undefined;
        if (!this.state.established) this.beatSoon();
      });
    });
  }
}
