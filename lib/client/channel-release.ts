import type { DefiniteRelease } from '../core/index.js';
import { Outcome, type ChannelAnswer } from '../rpc/index.js';
import { releaseOperation } from './channel-frames.js';
import type { ChannelGrant } from './channel-grant.js';
import type { LiveSession } from './live-session.js';
import type { BoundedAsker } from './channel-asker.js';

/**
 * Gives a grant back: said once, sent again by the channel until the server has it. Answered for good, or the session is
 * over, and with it the grant.
 */
export class ChannelRelease implements BoundedAsker {
  readonly endMs = Infinity;
  readonly of: number;
  private readonly session: LiveSession;
  readonly outcome: Promise<DefiniteRelease>;
  private settle!: (outcome: DefiniteRelease) => void;

  constructor(grant: ChannelGrant, keepMs: number) {
    const { channel, number } = grant;
    this.of = number;
    this.outcome = new Promise((resolve) => (this.settle = resolve));
    this.session = channel.session;
    this.session.begin();
    channel.drop(grant);
    channel.ask(releaseOperation(number, keepMs), this);
  }

  answered({ outcome }: ChannelAnswer): void {
    this.session.finish();
    this.settle(outcome === Outcome.Released ? 'released' : 'lost');
  }

  unanswered(): void {
    this.session.finish();
    this.settle('lost');
  }

  overdue(): void {
    // It has no end of its own: a live session would keep the lock for ever.
  }
}
