import type { Clock, Instant, Timer } from '../../core/index.js';
import { replyCode, replyText, type RedisLink, type RedisScript } from '../../redis-client/index.js';
import type { Answer } from './answer.js';
import { lockName } from './key-names.js';
import { text, type Operation, type Sending } from './operations.js';
import { UnpackedReply, packed } from './packed-call.js';
import { failedResult, isNotLetIn, refusal } from './refusal.js';
import type { CallHeader, CallListener } from './script-calls.js';
import { SCRIPT_SHA1, SCRIPT_TEXT } from './script-text.js';
import type { StoreTime } from './store-time.js';

/** Operations in one script call at the most: Redis does nothing else meanwhile. */
const MAX_OPERATIONS_PER_CALL = 128;
/** Below this many a further call costs both sides more than it saves. */
const MIN_OPERATIONS_PER_CALL = 16;
/**
 * What is on its way is shared by so many calls: while Redis works on one, the answer to the other is read here, and what
 * follows from it is asked. All in one call, both sides would work in turn; in more, both would pay for the further call.
 */
const CALLS_AT_ONCE = 2;
/**
 * Calls under way per lane: few, so that under load what is asked meanwhile gathers into one call; more would only queue
 * in the client library, where nothing can be taken back.
 */
const MAX_CALLS_UNDER_WAY = 4;
/** Operations waiting to be sent per lane; beyond it they are refused as unsent, so that an outage costs no memory. */
const MAX_WAITING = 20_000;

/** How long after its connection was lost a call may still be answered: by a client that sends it again. */
const ORPHAN_MS = 250;

/**
 * Ends a second key of each call on a Cluster. While a slot moves, a call with one key, absent here, is sent on to the
 * other node, which has not got the rest of the tree yet: a lock that is held would look free there. Of two keys one of
 * which never is, both nodes say TRYAGAIN until the slot has moved.
 */
const NEVER_KEPT = ':moves';

const SCRIPT: RedisScript = { text: SCRIPT_TEXT, sha1: SCRIPT_SHA1 };

/** When what was not sent yet was sent. */
const NEVER: Instant = { monoMs: 0, wallMs: 0 };

/** What a lane needs of whoever owns it. */
export interface LaneHost {
  readonly link: RedisLink;
  readonly clock: Clock;
  readonly time: StoreTime;
  readonly header: CallHeader;
  readonly listener: CallListener;
  nodeOf(tree: string): string;
  /** Nothing waits and nothing is under way: the lane may be forgotten. */
  idle(lane: Lane): void;
}

/** One operation on its way, whatever it answers; once sent, its own sending. */
class Job implements Sending {
  isSettled = false;
  isSent = false;
  sentAt: Instant = NEVER;
  notAfterMs = 0;
  epoch = 0;
  node = '';

  constructor(
    readonly operation: Operation<unknown>,
    readonly deadlineMs: number,
  ) {}
}

/** One script call under way. */
interface Call {
  readonly jobs: readonly Job[];
  readonly epoch: number;
  timer: Timer | undefined;
}

/** The way to one slot: collects the operations of a turn and sends them as one call. */
export class Lane {
  private waiting: Job[] = [];
  /** Few, and replaced whole: each table a Set has outgrown would keep the calls it held alive, with all they refer to. */
  private underWay: readonly Call[] = [];
  private scheduled = false;
  private timer: Timer | undefined = undefined;

  constructor(
    readonly slot: number,
    private readonly host: LaneHost,
  ) {}

  /** Settles the operation once, later than this returns. */
  send(operation: Operation<unknown>, deadlineMs: number): void {
    if (this.waiting.length >= MAX_WAITING) {
      const cause = new Error(`${MAX_WAITING} operations already wait to be sent to Redis`);
      process.nextTick(() => operation.settled({ type: 'unsent', cause }));
      return;
    }
    this.waiting.push(new Job(operation, deadlineMs));
    if (this.scheduled) return;
    this.scheduled = true;
    // After all promise callbacks of this turn: everything they ask for goes into the same call.
    process.nextTick(() => {
      this.scheduled = false;
      this.flush();
    });
  }

  /** Connections changed: what waits may be sendable, and calls of lost connections take no place any more. */
  linkChanged(): void {
    const { epoch } = this.host.link;
    for (const call of this.underWay) if (call.epoch < epoch) this.orphan(call);
    this.flush();
  }

  stop(): void {
    this.timer?.cancel();
    for (const job of this.waiting) settle(job, { type: 'unsent', cause: new Error('the driver is closed') });
    this.waiting = [];
    for (const call of this.underWay) call.timer?.cancel();
  }

  private flush(): void {
    const { state, trouble } = this.host.link;
    if (state === 'closed') this.leaveUnsent(new Error('the Redis client is closed'));
    else if (state === 'connecting' && isNotLetIn(trouble)) this.refuseAll(trouble);
    while (state === 'ready' && this.waiting.length > 0 && this.underWay.length < MAX_CALLS_UNDER_WAY) {
      this.call(this.waiting.splice(0, this.operationsPerCall));
    }
    this.watchWaiting();
    if (this.waiting.length === 0 && this.underWay.length === 0) this.host.idle(this);
  }

  private get operationsPerCall(): number {
    let onTheWay = this.waiting.length;
    for (const { jobs } of this.underWay) onTheWay += jobs.length;
    const share = Math.ceil(onTheWay / CALLS_AT_ONCE);
    return Math.min(Math.max(share, MIN_OPERATIONS_PER_CALL), MAX_OPERATIONS_PER_CALL);
  }

  private leaveUnsent(cause: Error): void {
    for (const job of this.waiting.splice(0)) settle(job, { type: 'unsent', cause });
    this.host.listener.reachable(false, cause);
  }

  private refuseAll(cause: Error): void {
    for (const job of this.waiting.splice(0)) {
      const { tree, facts } = job.operation;
      settle(job, { type: 'refused', ...refusal(replyText(cause), tree, { ...facts, cause }) });
    }
    this.host.listener.reachable(false, cause);
  }

  private call(taken: readonly Job[]): void {
    const nowMs = this.host.clock.monoMs();
    const jobs = taken.filter((job) => stillWanted(job, nowMs));
    if (jobs.length === 0) return;
    const [keys, args] = this.encode(jobs as [Job, ...Job[]]);
    const call: Call = { jobs, epoch: this.host.link.epoch, timer: undefined };
    this.underWay = [...this.underWay, call];
    this.watchCall(call);
    // Called inside a promise: a client that throws at once has answered nothing either.
    void Promise.resolve()
      .then(() => this.host.link.run(SCRIPT, keys, args))
      .then(
        (reply) => this.answered(call, reply),
        (error: unknown) => this.failed(call, error),
      )
      .finally(() => this.done(call));
  }

  private encode(jobs: readonly [Job, ...Job[]]): [string[], string[]] {
    const { link, clock, time, header } = this.host;
    const sentAt = clock.now();
    const { epoch } = link;
    // One slot, and so one server.
    const node = this.host.nodeOf(jobs[0].operation.tree);
    const storeMs = time.nowMs(node);
    const asked: string[] = [];
    for (const job of jobs) {
      if (storeMs !== undefined) job.notAfterMs = Math.floor(storeMs + job.deadlineMs - sentAt.monoMs);
      job.sentAt = sentAt;
      job.epoch = epoch;
      job.node = node;
      job.isSent = true;
      asked.push(packed(job.operation, job));
    }
    const { tree } = jobs[0].operation;
    const keys = link.topology === 'cluster' ? [tree, `${tree}${NEVER_KEPT}`] : [tree];
    return [keys, [time.seen, header.channel, header.label, header.fencing, asked.join('')]];
  }

  /** Its connection is gone. A client that neither sends it again nor says so would keep it waiting for ever (case B-045). */
  private orphan(call: Call): void {
    this.forget(call);
    const cause = new Error('the connection to Redis was lost before it answered');
    call.timer?.cancel();
    const { clock } = this.host;
    const leftMs = Math.min(ORPHAN_MS, earliestDeadline(call.jobs) - clock.monoMs());
    call.timer = clock.after(leftMs, () => settleUnanswered(call.jobs, cause));
  }

  private answered(call: Call, reply: unknown): void {
    const { jobs } = call;
    const answer = UnpackedReply.of(reply, jobs.length);
    if (answer === undefined) {
      this.failed(call, new TypeError('the klock script answered something it never answers'));
      return;
    }
    const { time, link, listener } = this.host;
    const [first] = jobs;
    // Of an earlier connection: the server behind the name may be another one by now.
    if (first !== undefined && call.epoch === link.epoch) {
      time.met(first.node, answer.timeUs, first.operation.tree);
    } else {
      time.see(answer.timeUs);
    }
    listener.reachable(true);
    answer.each(
      (words, at) => read(jobs[at] as Job, words),
      (list, at) => readList(jobs[at] as Job, list),
    );
    if (answer.woken !== '') listener.woken(answer.woken);
  }

  private failed(call: Call, error: unknown): void {
    const word = replyCode(error);
    if (word === undefined) this.host.listener.reachable(false, error);
    for (const job of call.jobs) {
      const { operation } = job;
      if (word === undefined) settle(job, { type: 'unanswered', cause: error, sending: job });
      else
        settle(job, {
          type: 'refused',
          ...refusal(replyText(error), operation.tree, { ...operation.facts, cause: error }),
        });
    }
  }

  private done(call: Call): void {
    call.timer?.cancel();
    this.forget(call);
    this.flush();
  }

  private forget(call: Call): void {
    this.underWay = this.underWay.filter((other) => other !== call);
  }

  /** Operations of a call that is not answered settle at their own deadlines; the call keeps its place meanwhile. */
  private watchCall(call: Call): void {
    const { clock } = this.host;
    const nextMs = earliestDeadline(call.jobs);
    if (nextMs === Infinity) return;
    call.timer = clock.after(nextMs - clock.monoMs(), () => {
      const nowMs = clock.monoMs();
      const cause = new Error('Redis did not answer in time');
      settleUnanswered(
        call.jobs.filter((job) => job.deadlineMs <= nowMs),
        cause,
      );
      this.host.listener.reachable(false, cause);
      this.watchCall(call);
    });
  }

  /** What cannot be sent now settles as unsent at its deadline. */
  private watchWaiting(): void {
    this.timer?.cancel();
    this.timer = undefined;
    if (this.waiting.length === 0) return;
    const { clock, link } = this.host;
    this.timer = clock.after(earliestDeadline(this.waiting) - clock.monoMs(), () => {
      const nowMs = clock.monoMs();
      const cause = new Error(
        link.state === 'ready' ? 'Redis is too slow to be asked' : 'Redis is not connected',
        { cause: link.trouble },
      );
      this.waiting = this.waiting.filter((job) => {
        if (job.deadlineMs > nowMs) return true;
        settle(job, { type: 'unsent', cause });
        return false;
      });
      this.host.listener.reachable(false, cause);
      this.watchWaiting();
    });
  }
}

function stillWanted(job: Job, nowMs: number): boolean {
  if (job.deadlineMs > nowMs && job.operation.isWanted?.() !== false) return true;
  settle(job, { type: 'unsent', cause: new Error('it was not sent in time') });
  return false;
}

function earliestDeadline(jobs: readonly Job[]): number {
  let earliest = Infinity;
  for (const job of jobs) if (!job.isSettled && job.deadlineMs < earliest) earliest = job.deadlineMs;
  return earliest;
}

function settleUnanswered(jobs: readonly Job[], cause: Error): void {
  for (const job of jobs) {
    if (job.isSent) settle(job, { type: 'unanswered', cause, sending: job });
  }
}

function settle(job: Job, answer: Answer<unknown>): void {
  if (job.isSettled) return;
  job.isSettled = true;
  job.operation.settled(answer);
}

function read(job: Job, result: readonly unknown[]): void {
  try {
    settle(job, { type: 'answered', value: job.operation.read(result), sending: job });
  } catch (cause) {
    settle(job, { type: 'unanswered', cause, sending: job });
  }
}

/** Only a list can say that its operation failed. */
function readList(job: Job, list: readonly unknown[]): void {
  const { tree, facts } = job.operation;
  const refused = failedResult(text(list[0]), text(list[1]), lockName(tree, ''), facts);
  if (refused === undefined) read(job, list);
  else settle(job, { type: 'refused', ...refused });
}
