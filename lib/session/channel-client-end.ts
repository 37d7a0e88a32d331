import { NumberMap } from '../core/index.js';
import { ChannelInbox } from './channel-inbox.js';
import { ChannelOutbox } from './channel-outbox.js';
import { GrantDigest } from './reconciliation.js';
import type { Page } from './reconciliation-pages.js';

/** An operation as this end sees it: an acquire, or the end of one. */
export interface SentOperation {
  /** The acquire that is cancelled or released by it; 0 for other operations. */
  readonly of: number;
  /** Called as it leaves for the first time: what it says is said from then on. */
  leaving?(): void;
}

/** An answer as this end sees it. */
export interface ReadAnswer {
  readonly operation: number;
  /** Above 0 in a grant only. */
  readonly fence: bigint;
}

/** Whoever waits for the answer of one operation. */
export interface Asker<A> {
  readonly of: number;
  answered(answer: A, operation: number): void;
  /** The session ended before the answer came. */
  unanswered(): void;
  /** The server knows nothing of the question: no answer to it will come. */
  askAgain(): void;
}

/** The renewal part of a frame. */
export interface Renewal {
  readonly number: number;
  readonly lastOperation: number;
  readonly lastMessage: number;
  readonly grants: number;
  readonly digest: bigint;
  /** How many operations were sent and are not answered, and the sum of their numbers. */
  readonly asked: number;
  readonly askedSum: number;
}

/** What goes into the next frame. */
export interface ClientParts<O> {
  readonly received: number;
  readonly renewal: Renewal | undefined;
  readonly firstOperation: number;
  readonly operations: readonly O[];
}

/** What comes out of a frame of the server. */
export interface ServerParts<A> {
  readonly received: number;
  readonly pages: readonly Page[];
  readonly firstMessage: number;
  readonly answers: readonly A[];
}

/** What a comparison of both sides' lists brings to light (design D5). */
export interface ClientEndEvents {
  /** The server holds a grant for an acquire nobody here knows: to be released. */
  orphan(operation: number): void;
  /** The server keeps a waiter nobody here waits for: to be cancelled. */
  forgotten(operation: number): void;
  /** A grant is held here that the server does not know. */
  lost(operation: number): void;
  /** The server has ended a grant that was held here. */
  revoked(operation: number): void;
}

/** Operations the server did not list, unless they are answered by a message that is still to come. */
interface Doubted {
  readonly operations: readonly number[];
  readonly untilMessage: number;
}

interface HeldGrant {
  readonly fence: bigint;
  /** The message that brought it. */
  readonly message: number;
}

/** Answers received before they are acknowledged by a frame of their own. */
const ACKNOWLEDGE_EVERY = 256;
/** Bytes of one frame: below the 64 KiB a message may have, renewal included. */
const FRAME_BYTES = 60_000;
/** Renewals whose lists may still come. */
const REMEMBERED_RENEWALS = 8;

/**
 * The client's end of a channel for the life of one session, over all its streams: what was asked and not answered, what
 * is held, what goes into the next frame. No I/O, no time.
 */
export class ChannelClientEnd<O extends SentOperation, A extends ReadAnswer> {
  private readonly outbox = new ChannelOutbox<O>();
  private readonly inbox = new ChannelInbox();
  private readonly pending = new NumberMap<Asker<A>>();
  private readonly held = new NumberMap<HeldGrant>();
  /** Acquires whose cancel was sent before their answer came. */
  private readonly cancelled = new Set<number>();
  private readonly digest = new GrantDigest();
  private readonly renewals = new Map<number, Renewal>();
  private lastRenewal = 0;
  private renewalWanted = false;
  private acknowledged = 0;
  private listedHeld = new Set<number>();
  private listedWaiting: number[] = [];
  private doubted: Doubted | undefined = undefined;
  private over = false;

  constructor(
    private readonly sizeOf: (operation: O) => number,
    private readonly events: ClientEndEvents,
  ) {}

  /** Operations the server has not acknowledged. */
  get unacknowledged(): number {
    return this.outbox.size;
  }

  /** Operations without an answer. */
  get unanswered(): number {
    return this.pending.size;
  }

  /** Grants held by the account of this end. */
  get grants(): number {
    return this.held.size;
  }

  /** The last message received: said at a resume. */
  get received(): number {
    return this.inbox.last;
  }

  /** Everybody who waits, oldest first. */
  askers(): readonly Asker<A>[] {
    return this.pending.values();
  }

  /** Asks; the answer goes to `asker`. The number of the operation; 0 if the session is over, and the asker was told. */
  ask(operation: O, asker: Asker<A>): number {
    if (this.over) {
      asker.unanswered();
      return 0;
    }
    const number = this.outbox.push(operation);
    this.pending.set(number, asker);
    return number;
  }

  /** The next frame carries a renewal; its number. One that was not sent yet is that one. */
  renew(): number {
    if (!this.renewalWanted) this.lastRenewal++;
    this.renewalWanted = true;
    return this.lastRenewal;
  }

  /** Whether a frame is due. */
  get hasToSend(): boolean {
    return this.outbox.hasUnsent || this.renewalWanted || this.acknowledgementDue;
  }

  /** What is to be sent now, if anything. */
  take(): ClientParts<O> | undefined {
    if (!this.hasToSend) return undefined;
    const renewal = this.takeRenewal();
    const firstOperation = this.outbox.sent + 1;
    const operations = this.outbox.take(FRAME_BYTES, this.sizeOf, this.sending);
    this.acknowledged = this.inbox.last;
    return { received: this.inbox.last, renewal, firstOperation, operations };
  }

  /** False if the frame does not follow what was received: the stream has to be given up and resumed. */
  receive({ received, pages, firstMessage, answers }: ServerParts<A>): boolean {
    this.outbox.acknowledge(received);
    // Before the answers: the lists were made before the operations behind the renewal were looked at.
    for (const page of pages) this.readPage(page);
    const known = this.inbox.accept(firstMessage, answers.length);
    if (known === undefined) return false;
    for (let at = known; at < answers.length; at++) this.answer(answers[at] as A, firstMessage + at);
    if (this.doubted !== undefined) this.settleDoubt(this.doubted);
    return true;
  }

  /** A stream ended, or a new one begins: what is not acknowledged will be sent again. */
  resume(): void {
    this.outbox.rewind();
  }

  /** The session is over: nobody is answered any more. */
  end(): void {
    this.over = true;
    const waiting = this.pending.values();
    this.pending.clear();
    this.held.clear();
    for (const asker of waiting) asker.unanswered();
  }

  private get acknowledgementDue(): boolean {
    return this.inbox.last - this.acknowledged >= ACKNOWLEDGE_EVERY;
  }

  /** Stamped with what was sent before this frame, and with what is held by that account. */
  private takeRenewal(): Renewal | undefined {
    if (!this.renewalWanted) return undefined;
    this.renewalWanted = false;
    const renewal: Renewal = {
      number: this.lastRenewal,
      lastOperation: this.outbox.lastEverSent,
      lastMessage: this.inbox.last,
      grants: this.digest.count,
      digest: this.digest.sum,
      ...this.account(),
    };
    this.renewals.set(renewal.number, renewal);
    this.renewals.delete(renewal.number - REMEMBERED_RENEWALS);
    return renewal;
  }

  /** What was sent and is not answered: all that is pending but what has never left, the newest of them. */
  private account(): Pick<Renewal, 'asked' | 'askedSum'> {
    const { last, lastEverSent } = this.outbox;
    const unsent = last - lastEverSent;
    return {
      asked: this.pending.size - unsent,
      askedSum: this.pending.sum - (unsent * (last + lastEverSent + 1)) / 2,
    };
  }

  /** An operation leaves for the first time: from now on the grant it ends is not held by our account. */
  private readonly sending = (operation: O): void => {
    const { of } = operation;
    if (of === 0) return operation.leaving?.();
    const grant = this.held.delete(of);
    if (grant !== undefined) this.digest.remove(grant.fence);
    else if (this.pending.has(of)) this.cancelled.add(of);
  };

  private answer(answer: A, message: number): void {
    const { operation, fence } = answer;
    const asker = this.pending.delete(operation);
    const cancelled = this.cancelled.size > 0 && this.cancelled.delete(operation);
    if (fence > 0n && !cancelled) this.hold(operation, fence, message);
    if (asker !== undefined) asker.answered(answer, operation);
    else if (fence === 0n) this.revoke(operation);
    else if (!cancelled) this.events.orphan(operation);
  }

  /** A second answer to an acquire ends its grant, unless that was given back meanwhile. */
  private revoke(operation: number): void {
    const grant = this.held.delete(operation);
    if (grant === undefined) return;
    this.digest.remove(grant.fence);
    this.events.revoked(operation);
  }

  private hold(operation: number, fence: bigint, message: number): void {
    this.held.set(operation, { fence, message });
    this.digest.add(fence);
  }

  private readPage({ renewal, held, waiting, last, lastMessage }: Page): void {
    for (const number of held) this.listedHeld.add(number);
    for (const number of waiting) this.listedWaiting.push(number);
    if (!last) return;
    const [listedHeld, listedWaiting] = [this.listedHeld, this.listedWaiting];
    this.listedHeld = new Set();
    this.listedWaiting = [];
    const stamp = this.renewals.get(renewal);
    if (stamp === undefined) return;
    this.compare(stamp, listedHeld, listedWaiting);
    this.doubt(stamp, new Set(listedWaiting), lastMessage);
  }

  private doubt({ lastOperation }: Renewal, waiting: ReadonlySet<number>, untilMessage: number): void {
    const operations = this.pending
      .keys()
      .filter((number) => number <= lastOperation && !waiting.has(number));
    if (operations.length > 0) this.doubted = { operations, untilMessage };
  }

  /** Every answer the server had when it made the lists has come: what is still not answered never will be. */
  private settleDoubt({ operations, untilMessage }: Doubted): void {
    if (this.inbox.last < untilMessage) return;
    this.doubted = undefined;
    for (const operation of operations) {
      const asker = this.pending.delete(operation);
      if (asker === undefined) continue;
      this.cancelled.delete(operation);
      asker.askAgain();
    }
  }

  /** Judged at the numbers of the renewal: what was sent or has come since is not the server's mistake. */
  private compare(stamp: Renewal, heldThere: ReadonlySet<number>, waitingThere: readonly number[]): void {
    const ending = this.endingAfter(stamp.lastOperation);
    const lost = this.held.keys().filter((number) => {
      const grant = this.held.get(number);
      return grant !== undefined && grant.message <= stamp.lastMessage && !heldThere.has(number);
    });
    for (const number of heldThere) {
      if (!this.held.has(number) && !this.pending.has(number) && !ending.has(number))
        this.events.orphan(number);
    }
    for (const number of waitingThere) {
      if (!this.pending.has(number) && !this.held.has(number) && !ending.has(number))
        this.events.forgotten(number);
    }
    for (const number of lost) {
      const grant = this.held.delete(number);
      if (grant === undefined) continue;
      this.digest.remove(grant.fence);
      this.events.lost(number);
    }
  }

  /** Acquires whose release or cancel the server had not seen at that number. */
  private endingAfter(lastOperation: number): ReadonlySet<number> {
    const ending = new Set<number>();
    for (const number of this.pending.keys()) {
      const of = this.pending.get(number)?.of ?? 0;
      if (of > 0 && number > lastOperation) ending.add(of);
    }
    return ending;
  }
}
