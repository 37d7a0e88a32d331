import type { Instant, KeptLease, LockKey } from '../core/index.js';
import type { ChannelRelease } from './channel-release.js';
import type { ChannelSession } from './channel-session.js';
import type { SessionGrant } from './session-grants.js';

/** A grant that came over a channel. */
export class ChannelGrant implements SessionGrant {
  readonly granted = true;
  place = -1;
  /** Its release, shared by everybody who asks for one. */
  release: ChannelRelease | undefined = undefined;

  constructor(
    /** The session it rests on. */
    readonly channel: ChannelSession,
    /** Number of its acquire. */
    readonly number: number,
    readonly key: LockKey,
    readonly token: string,
    readonly fence: bigint,
    readonly span: number,
    /** The turn in which its frame was read. */
    readonly decidedAt: Instant,
  ) {}

  /** What the server knows its request by. */
  get requestId(): string {
    return String(this.number);
  }

  get lease(): KeptLease {
    return this.channel.session.lease;
  }
}
