import type { DefiniteRelease } from '../core/index.js';
import { Outcome, type ChannelAnswer } from '../rpc/index.js';
import { releaseOperation } from './channel-frames.js';
import type { ChannelGrant } from './channel-grant.js';
import type { BoundedAsker } from './channel-asker.js';

/**
 * Gives a grant back: said once, sent again by the channel until the server has it. Answered for good, or the session is
 * over, and with it the grant.
 */
export class ChannelRelease implements BoundedAsker {
  readonly endMs = Infinity;
  readonly of: number;
  readonly outcome: Promise<DefiniteRelease>;
  private settle: (outcome: DefiniteRelease) => void = () => undefined;
  private readonly unused: () => void;

  constructor(grant: ChannelGrant, keepMs: number) {
    const { channel, number } = grant;
    this.of = number;
    this.outcome = new Promise((resolve) => (this.settle = resolve));
    this.unused = channel.session.use();
    channel.drop(number, grant);
    channel.ask(releaseOperation(number, keepMs), this);
  }

  answered({ outcome }: ChannelAnswer): void {
    this.unused();
    this.settle(outcome === Outcome.Released ? 'released' : 'lost');
  }

  unanswered(): void {
    this.unused();
    this.settle('lost');
  }

  overdue(): void {
    // It has no end of its own: a live session would keep the lock for ever.
  }
}
