import { eachOf, including, type DefiniteRelease, type Few, type ReleaseReader } from '../core/index.js';
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
  /** Undefined while it is not answered. */
  outcome: DefiniteRelease | undefined = undefined;
  private readers: Few<ReleaseReader> = undefined;

  constructor(
    grant: ChannelGrant,
    private readonly keepMs: number,
  ) {
    const { channel, number } = grant;
    this.of = number;
    this.channel = channel;
    channel.session.begin();
    channel.drop(grant);
    channel.ask(releaseOperation(number, keepMs), this);
  }

  /** Tells `reader` the outcome, which has not come yet. */
  whenAnswered(reader: ReleaseReader): void {
    this.readers = including(this.readers, reader);
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

  private settle(outcome: DefiniteRelease): void {
    this.outcome = outcome;
    eachOf(this.readers, (reader) => reader.givenBack(outcome));
  }

  overdue(): void {
    // It has no end of its own: a live session would keep the lock for ever.
  }
}
