import { SlotMap, assert, eachOf } from '../core/index.js';
import { CallBook } from './call-book.js';
import type { CallId, Effect, EngineOptions, Grant, LateAnswer, Refusal } from './commands.js';
import { DeadlineHeap } from './deadline-heap.js';
import { resolveEngineOptions, type ResolvedEngineOptions } from './engine-options.js';
import { FenceSequence } from './fence-sequence.js';
import { LockTable } from './lock-table.js';
import type { GrantedAnswer, Request } from './request.js';
import { SessionBook } from './session-book.js';

/** What most commands lead to. One for all of them: it is returned millions of times and written never. */
export const NO_EFFECTS: readonly Effect[] = Object.freeze([]);

/** Everything an engine knows, and the few moves all its commands are made of. Each leaves it consistent. */
export class EngineState {
  readonly options: ResolvedEngineOptions;
  readonly table: LockTable<Request>;
  readonly sessions: SessionBook;
  readonly fences: FenceSequence;
  /** Grants that have not ended. */
  grants = 0;
  /** Those of them that have a token, by it. */
  readonly tokens = new SlotMap<Request>();
  /** The calls that wait for an answer. */
  readonly calls = new CallBook();
  /** Ends of waits, of detached places and of kept keys. */
  readonly deadlines = new DeadlineHeap<Request>();
  /** Requests that keep an arrival number and nothing else. */
  detached = 0;
  /** Keys that stay taken although their grant has ended. */
  kept = 0;
  draining = false;
  /** No grant before this instant ... */
  holdUntilMs = -Infinity;
  /** ... and none from this one on. */
  onlyUntilMs = Infinity;
  /** The time of the command being applied; never goes back. */
  nowMs = -Infinity;
  private pendingEffects: Effect[] | undefined = undefined;

  constructor(options: EngineOptions) {
    this.options = resolveEngineOptions(options);
    this.sessions = new SessionBook(this.options);
    this.fences = new FenceSequence(this.options);
    this.table = new LockTable<Request>((request) => {
      this.grant(request);
    });
  }

  /** Whether anything may be granted now. Asked of the time, not of a timer. */
  get open(): boolean {
    const { nowMs } = this;
    return !this.draining && nowMs >= this.holdUntilMs && nowMs < this.onlyUntilMs && !this.fences.dry;
  }

  /** Why nothing may be granted now to anybody, if so. */
  closedBecause(): Extract<Refusal, { why: 'draining' | 'recovering' | 'no-fence' }> | undefined {
    if (this.open) return undefined;
    if (this.draining) return { why: 'draining' };
    if (this.nowMs >= this.onlyUntilMs) return { why: 'recovering', untilMs: Infinity };
    if (this.nowMs < this.holdUntilMs) return { why: 'recovering', untilMs: this.holdUntilMs };
    return { why: 'no-fence' };
  }

  /** Opens or closes the table as the time and the fences allow; opening grants what could not be granted meanwhile. */
  setTable(): void {
    const { open, table } = this;
    if (open === table.open) return;
    if (open) table.reopen();
    else table.close();
  }

  tell(effect: Effect): void {
    if (this.pendingEffects === undefined) this.pendingEffects = [effect];
    else this.pendingEffects.push(effect);
  }

  takeEffects(): readonly Effect[] {
    const effects = this.pendingEffects ?? NO_EFFECTS;
    this.pendingEffects = undefined;
    return effects;
  }

  /** The request holds its key now: gives it token and fence, and answers whoever still waits for it. */
  grant(request: Request): GrantedAnswer {
    const span = this.fences.spanOf(request.span);
    const fence = this.fences.take(span);
    assert(fence !== undefined, 'the table is closed while no fence is reserved');
    if (this.fences.dry) this.table.close();
    this.grants++;
    this.deadlines.remove(request);
    const grant = request.session.local
      ? this.localGrant(request, fence, span)
      : this.tokenGrant(request, fence, span);
    const answer: GrantedAnswer = { type: 'granted', grant };
    request.answer = answer;
    this.answerCalls(request, answer);
    return answer;
  }

  /** The request itself: nobody outside the process is shown it. */
  private localGrant(request: Request, fence: bigint, span: number): Grant {
    request.fence = fence;
    request.span = span;
    request.sinceMs = this.nowMs;
    return request;
  }

  private tokenGrant(request: Request, fence: bigint, span: number): Grant {
    const grant: { -readonly [K in keyof Grant]: Grant[K] } = {
      sessionId: request.session.id,
      requestId: request.requestId,
      key: request.key,
      token: '',
      fence,
      span,
      grantedAtMs: this.nowMs,
      metadata: request.metadata,
    };
    grant.token = this.options.mintToken(grant);
    this.tokens.set(grant.token, request);
    return grant;
  }

  /** A grant ends. Its id and token are dead from here on; the key is freed unless it is to be kept. */
  endGrant(request: Request, keepMs = 0): void {
    const { grant, session } = request;
    assert(grant !== undefined, 'a grant that ends was made');
    this.grants--;
    if (!session.local) this.tokens.delete(grant.token);
    session.requests.finish(request, 'was-granted-now-released', this.nowMs);
    if (keepMs > 0) this.keepKey(request, keepMs);
    else this.table.release(request);
  }

  /** A key that was kept taken is free. */
  endKept(request: Request): void {
    assert(request.kept, 'only a key that is kept is let go');
    this.deadlines.remove(request);
    request.kept = false;
    request.session.keptKeys--;
    this.kept--;
    this.table.release(request);
  }

  /** A request leaves the line; its calls are answered. What becomes of its id is for the caller to say. */
  leaveLine(request: Request, refusal: Refusal): void {
    this.deadlines.remove(request);
    if (request.calls !== undefined) this.answerCalls(request, { type: 'refused', refusal });
    if (request.stage === 'out') this.detached--;
    else this.table.withdraw(request);
  }

  /** Refuses every waiter and forgets every detached place. */
  refuseEverybody(refusal: Refusal): void {
    this.table.close();
    for (const session of this.sessions.all()) {
      for (const request of session.requests.live.values()) {
        if (request.stage === 'held') continue;
        this.leaveLine(request, refusal);
        session.requests.live.delete(request);
      }
    }
  }

  private keepKey(request: Request, keepMs: number): void {
    request.kept = true;
    request.session.keptKeys++;
    this.kept++;
    this.deadlines.set(request, this.nowMs + keepMs);
  }

  private answerCalls(request: Request, answer: LateAnswer): void {
    const { calls } = request;
    if (calls === undefined) return;
    request.calls = undefined;
    eachOf(calls, (callId) => this.answerCall(callId, answer));
  }

  private answerCall(callId: CallId, answer: LateAnswer): void {
    this.calls.delete(callId);
    this.tell({ type: 'call-answered', callId, answer });
  }
}
