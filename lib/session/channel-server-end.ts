import { NumberMap } from '../core/index.js';
import type { ReadAnswer, Renewal } from './channel-client-end.js';
import { ChannelInbox } from './channel-inbox.js';
import { ChannelOutbox } from './channel-outbox.js';
import { GrantDigest } from './reconciliation.js';
import { pagesOf, type Page } from './reconciliation-pages.js';

/** What goes into the next frame of the server. */
export interface AnswerParts<A> {
  readonly received: number;
  readonly firstMessage: number;
  readonly answers: readonly A[];
}

interface KnownGrant {
  readonly token: string;
  readonly fence: bigint;
  /** The client is known to have received it, so that it is in both sums. */
  counted: boolean;
}

const ACKNOWLEDGE_EVERY = 256;

/**
 * The server's end of a channel for the life of one session, over all its streams: which operations have come, which
 * answers are not acknowledged, which grants the client holds. No I/O, no time.
 */
export class ChannelServerEnd<A extends ReadAnswer> {
  private readonly inbox = new ChannelInbox();
  private readonly outbox = new ChannelOutbox<A>();
  private readonly known = new NumberMap<KnownGrant>();
  private readonly digest = new GrantDigest();
  private acknowledged = 0;
  /** Sum of the operations whose answers are not acknowledged. */
  private answeredSum = 0;
  /** Acquires whose grants were revoked, as long as the client may not have read it. */
  private readonly notices = new Set<number>();

  constructor(private readonly sizeOf: (answer: A) => number) {}

  /** Answers the client has not acknowledged. */
  get unacknowledged(): number {
    return this.outbox.size;
  }

  /** Number of the last answer made. */
  get lastMessage(): number {
    return this.outbox.last;
  }

  /** The client has acknowledged every answer up to this number. */
  get acknowledgedMessage(): number {
    return this.outbox.last - this.outbox.size;
  }

  get grants(): number {
    return this.known.size;
  }

  /** Token of the grant of an acquire, while it is held. */
  tokenOf(operation: number): string | undefined {
    return this.notices.has(operation) ? undefined : this.known.get(operation)?.token;
  }

  /** Which of the operations of a frame are new: how many to pass over; undefined if some are missing. */
  accept(firstOperation: number, count: number): number | undefined {
    return this.inbox.accept(firstOperation, count);
  }

  /** The client has received everything up to this message. */
  acknowledge(message: number): void {
    this.outbox.acknowledge(message, this.arrived);
  }

  answer(answer: A): void {
    this.answeredSum += answer.operation;
    this.outbox.push(answer);
  }

  /**
   * The grant of an acquire was ended by somebody else: `notice` answers that acquire a second time. Until it is acknowledged
   * the client counts the grant as held, and so does this end: neither takes the other for mistaken (design D5).
   */
  revoke(notice: A): void {
    this.notices.add(notice.operation);
    this.outbox.push(notice);
  }

  granted(operation: number, token: string, fence: bigint): void {
    this.known.set(operation, { token, fence, counted: false });
  }

  /** The grant of an acquire has ended. */
  ended(operation: number): void {
    const grant = this.known.delete(operation);
    if (grant?.counted === true) this.digest.remove(grant.fence);
  }

  /**
   * Compares what both sides believe to be held, and to be asked and not answered. Undefined: the same, or not to be judged now, since operations the client
   * had sent before are still to come again after a resume. Else the pages for the client to compare with.
   */
  judge(renewal: Renewal, waiting: NumberMap<object>): readonly Page[] | undefined {
    this.acknowledge(renewal.lastMessage);
    if (renewal.lastOperation !== this.inbox.last) return undefined;
    if (this.digest.equals(renewal.grants, renewal.digest) && this.owesTheSame(renewal, waiting))
      return undefined;
    const held = this.known.keys().filter((number) => this.known.get(number)?.counted);
    return pagesOf({ renewal: renewal.number, lastMessage: this.outbox.last }, held, waiting.keys());
  }

  get hasUnsent(): boolean {
    return this.outbox.hasUnsent;
  }

  /** So much was received without a word that a frame is due. */
  get owesAcknowledgement(): boolean {
    return this.inbox.last - this.acknowledged >= ACKNOWLEDGE_EVERY;
  }

  /** What goes into the next frame: answers of `room` bytes at most, none if it is 0. */
  take(room: number): AnswerParts<A> {
    const firstMessage = this.outbox.sent + 1;
    const answers = room > 0 ? this.outbox.take(room, this.sizeOf) : [];
    this.acknowledged = this.inbox.last;
    return { received: this.inbox.last, firstMessage, answers };
  }

  /** A new stream: what is not acknowledged is sent again. */
  resume(): void {
    this.outbox.rewind();
  }

  /** Whether the client waits for what is to be answered yet, or was and has not reached it: no more, and no less. */
  private owesTheSame({ asked, askedSum }: Renewal, waiting: NumberMap<object>): boolean {
    const owed = waiting.size + this.outbox.size - this.notices.size;
    return owed === asked && waiting.sum + this.answeredSum === askedSum;
  }

  private readonly arrived = ({ operation, fence }: A): void => {
    // The grant itself came with an earlier message.
    if (this.notices.size > 0 && fence === 0n && this.notices.delete(operation)) return this.ended(operation);
    this.answeredSum -= operation;
    if (fence === 0n) return;
    const grant = this.known.get(operation);
    if (grant === undefined || grant.counted) return;
    grant.counted = true;
    this.digest.add(fence);
  };
}
