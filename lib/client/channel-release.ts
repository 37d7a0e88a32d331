import type { DefiniteRelease } from '../core/index.js';
import { Outcome, type ChannelAnswer } from '../rpc/index.js';
import { releaseOperation } from './channel-frames.js';
import type { ChannelGrant } from './channel-grant.js';
import type { ChannelSession } from './channel-session.js';
import type { BoundedAsker } from './channel-asker.js';

/**
 * Gives a grant back: said once, sent again by the channel until the server has it. Answered for good, or the session is
 * over, and with it the grant.
 */
export class ChannelRelease implements BoundedAsker {
  readonly endMs = Infinity;
  readonly of: number;
  private readonly channel: ChannelSession;
  readonly outcome: Promise<DefiniteRelease>;
  private settle!: (outcome: DefiniteRelease) => void;

  constructor(
    grant: ChannelGrant,
    private readonly keepMs: number,
  ) {
    const { channel, number } = grant;
    this.of = number;
    this.outcome = new Promise((resolve) => (this.settle = resolve));
    this.channel = channel;
    channel.session.begin();
    channel.drop(grant);
    channel.ask(releaseOperation(number, keepMs), this);
  }

  answered({ outcome }: ChannelAnswer): void {
    this.channel.session.finish();
    this.settle(outcome === Outcome.Released ? 'released' : 'lost');
  }

  unanswered(): void {
    this.channel.session.finish();
    this.settle('lost');
  }

  askAgain(): void {
    this.channel.ask(releaseOperation(this.of, this.keepMs), this);
  }

  overdue(): void {
    // It has no end of its own: a live session would keep the lock for ever.
  }
}
