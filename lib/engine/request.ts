import type { Linked, LinkedList, LockKey } from '../core/index.js';
import type { AcquireAnswer, CallId, Grant } from './commands.js';
import type { Due } from './deadline-heap.js';
import type { Session } from './session.js';
import { TableEntry } from './table-entry.js';

export type GrantedAnswer = Extract<AcquireAnswer, { type: 'granted' }>;

/** A grant of a local session, which names its request. */
export interface LocalGrant extends Grant {
  readonly request: Request;
}

/**
 * One acquire for its whole life: one id, one place in line, one grant. Its stage in the table says what it is:
 * in a queue: waiting, `dueMs` is the end of the wait · `out`: detached, `dueMs` ends the memory of its arrival number ·
 * `held`: granted, and with `kept` the grant has ended and the key stays taken until `dueMs`.
 */
export class Request extends TableEntry implements Due, Linked<Request> {
  dueMs = Infinity;
  heapIndex = -1;
  /** Calls that wait for the answer. */
  calls: CallId[] | undefined = undefined;
  answer: GrantedAnswer | undefined = undefined;
  kept = false;
  list: LinkedList<Request> | undefined = undefined;
  before: Request | undefined = undefined;
  after: Request | undefined = undefined;
  /** How long it keeps its arrival number once its wait is over, as its latest attempt asked. */
  keepPlaceMs = 0;

  constructor(
    readonly session: Session,
    readonly id: string,
    readonly key: LockKey,
    readonly metadata: Readonly<Record<string, string>> | undefined,
    /** When it was asked for first. */
    readonly sinceMs: number,
    /** Fences its grant shall cover. */
    readonly span = 1,
  ) {
    super(key);
  }

  get grant(): Grant | undefined {
    return this.answer?.grant;
  }

  /** Whether it asks for this key. */
  isFor(key: LockKey): boolean {
    return this.l1 === key[0] && this.l2 === (key.length === 2 ? key[1] : undefined);
  }
}
