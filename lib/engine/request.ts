import type { Few, Linked, LinkedList, LockKey } from '../core/index.js';
import type { AcquireAnswer, CallId, Grant, LocalCall } from './commands.js';
import type { Due } from './deadline-heap.js';
import type { L1Node, L2Node } from './lock-node.js';
import type { Session } from './session.js';
import type { Placed, Stage } from './table-entry.js';

export type GrantedAnswer = Extract<AcquireAnswer, { type: 'granted' }>;

/**
 * One acquire for its whole life: one id, one place in line, one grant. Its stage in the table says what it is:
 * in a queue: waiting, `dueMs` is the end of the wait · `out`: detached, `dueMs` ends the memory of its arrival number ·
 * `held`: granted, and with `kept` the grant has ended and the key stays taken until `dueMs`.
 *
 * In a local session it is the record of its grant too. It is a table entry without being derived from one: making an
 * object of a derived class takes twice as long.
 */
export class Request implements Grant, Placed, Due, Linked<Request> {
  readonly l1: string;
  readonly l2: string | undefined;
  stage: Stage = 'out';
  arrival = 0;
  node: L1Node | undefined = undefined;
  child: L2Node | undefined = undefined;
  ahead: Placed | undefined = undefined;
  behind: Placed | undefined = undefined;
  dueMs = Infinity;
  heapIndex = -1;
  sooner: Due | undefined = undefined;
  later: Due | undefined = undefined;
  /** Calls that wait for the answer. */
  calls: Few<CallId> = undefined;
  answer: GrantedAnswer | undefined = undefined;
  /** Set by a grant in a local session only. */
  fence = 0n;
  kept = false;
  /** In a local session: who asks. */
  holder: LocalCall | undefined = undefined;
  list: LinkedList<Request> | undefined = undefined;
  before: Request | undefined = undefined;
  after: Request | undefined = undefined;
  /** How long it keeps its arrival number once its wait is over, as its latest attempt asked. */
  keepPlaceMs = 0;

  constructor(
    readonly session: Session,
    readonly requestId: string,
    readonly key: LockKey,
    readonly metadata: Readonly<Record<string, string>> | undefined,
    /** Since when it is asked for; in a local session, from the grant on, since when it is held. */
    public sinceMs: number,
    /** Fences its grant shall cover; in a local session, from the grant on those it does. */
    public span = 1,
  ) {
    this.l1 = key[0];
    this.l2 = key.length === 2 ? key[1] : undefined;
  }

  /** By somebody in this process: each knows the other from now on. */
  askedBy(call: LocalCall): void {
    this.holder = call;
    call.place = this;
  }

  get sessionId(): string {
    return this.session.id;
  }

  get grantedAtMs(): number {
    return this.sinceMs;
  }

  /** Of a local session's grant: there the grant itself is the proof. */
  get token(): string {
    return '';
  }

  get grant(): Grant | undefined {
    return this.answer?.grant;
  }

  /** Whether it asks for this key. */
  isFor(key: LockKey): boolean {
    return this.l1 === key[0] && this.l2 === (key.length === 2 ? key[1] : undefined);
  }
}
