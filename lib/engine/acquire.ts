import { allOf, excluding, including } from '../core/index.js';
import type { Acquire, AcquireAnswer, DetachCall, Refusal } from './commands.js';
import { DETACHED_KEEP_MS, MAX_CALLS_PER_REQUEST } from './engine-options.js';
import type { EngineState } from './engine-state.js';
import { Request } from './request.js';
import type { Session } from './session.js';

type Refused = Extract<AcquireAnswer, { type: 'refused' }>;

const QUEUED: AcquireAnswer = Object.freeze({ type: 'queued' });
const BUSY: Refusal = Object.freeze({ why: 'busy' });
const CONFLICT: Refusal = Object.freeze({ why: 'conflict' });
const CANCELLED: Refusal = Object.freeze({ why: 'cancelled' });

/** One attempt of a request: the first, a repeat, or one more after a refusal. One id, one outcome (design D4). */
export function acquire(state: EngineState, command: Acquire): AcquireAnswer {
  const session = state.sessions.get(command.sessionId);
  if (session?.local !== true) return acquireById(state, session, command);
  return state.draining ? refused({ why: 'draining' }) : first(state, session, command);
}

/** In a session whose requests are known by their ids. */
function acquireById(state: EngineState, session: Session | undefined, command: Acquire): AcquireAnswer {
  const live = session?.requests.live.get(command.requestId);
  // A grant that was made before the drain is still told to whoever asks for it again: it is no new one.
  if (state.draining && live?.stage !== 'held') return refused({ why: 'draining' });
  if (session === undefined) return refused(state.sessions.missing(command.sessionId, state.nowMs));
  if (live !== undefined) {
    // A detached request is a memory of its place; for another key its id is as free as after any refusal (K-075).
    if (live.stage !== 'out' || live.isFor(command.key)) return repeat(state, live, command);
    state.leaveLine(live, BUSY);
    session.requests.live.delete(live);
  }
  const finished = session.requests.finished.get(command.requestId, state.nowMs);
  if (finished !== undefined) return refused(finished === 'was-granted-now-released' ? CONFLICT : CANCELLED);
  return first(state, session, command);
}

/** A call ended without an answer. The request of the last such call keeps its arrival number for a while. */
export function detachCall(state: EngineState, command: DetachCall): undefined {
  const { callId } = command;
  const request = state.calls.requestOf(callId);
  if (request === undefined) return;
  state.calls.delete(callId);
  request.calls = excluding(request.calls, callId);
  if (request.calls !== undefined) return;
  detach(state, request, command.keepMs ?? DETACHED_KEEP_MS);
}

/** The wait of a request is over; every call that waits for it is told. */
export function endWait(state: EngineState, request: Request): Refusal {
  const refusal = state.closedBecause() ?? BUSY;
  const { keepPlaceMs } = request;
  state.leaveLine(request, refusal);
  keepPlace(state, request, keepPlaceMs);
  return refusal;
}

function first(state: EngineState, session: Session, command: Acquire): AcquireAnswer {
  const refusal = refusedAtOnce(state, session);
  if (refusal !== undefined) return refused(refusal);
  const { callId, requestId, key, metadata, span } = command;
  const request = new Request(session, requestId, key, metadata, state.nowMs, span);
  if (typeof callId !== 'number') request.askedBy(callId);
  if (state.table.tryAcquire(request)) {
    session.requests.live.add(request);
    return state.grant(request);
  }
  return command.waitUntilMs <= state.nowMs
    ? refused(state.closedBecause() ?? BUSY)
    : queue(state, request, command);
}

function queue(state: EngineState, request: Request, command: Acquire): AcquireAnswer {
  if (!hasRoom(state, request)) return refused(noRoomFor(state));
  request.session.requests.live.add(request);
  state.table.enqueue(request);
  return wait(state, request, command);
}

function repeat(state: EngineState, request: Request, command: Acquire): AcquireAnswer {
  if (!request.isFor(command.key)) return refused(CONFLICT);
  if (request.answer !== undefined) return request.answer;
  if (allOf(request.calls).length >= MAX_CALLS_PER_REQUEST) {
    return refused({ why: 'limit', limit: 'calls-per-request' });
  }
  if (request.stage === 'out') {
    state.detached--;
    state.table.enqueue(request);
    // Read again: taking its place in line may have granted it.
    const granted: AcquireAnswer | undefined = request.answer;
    if (granted !== undefined) return granted;
  }
  if (command.waitUntilMs > state.nowMs) return wait(state, request, command);
  request.keepPlaceMs = command.keepPlaceMs ?? 0;
  return refused(endWait(state, request));
}

/** The latest attempt's deadline governs for all calls of the request. */
function wait(state: EngineState, request: Request, command: Acquire): AcquireAnswer {
  const { callId } = command;
  request.calls = including(request.calls, callId);
  state.calls.add(callId, request);
  request.keepPlaceMs = command.keepPlaceMs ?? 0;
  state.deadlines.set(request, command.waitUntilMs);
  return QUEUED;
}

function detach(state: EngineState, request: Request, keepMs: number): void {
  request.calls = undefined;
  state.table.withdraw(request);
  state.deadlines.remove(request);
  keepPlace(state, request, keepMs);
}

/** Outside the line by now: keeps the request for its arrival number, or forgets it, so that its id may be asked anew. */
function keepPlace(state: EngineState, request: Request, keepMs: number): void {
  if (keepMs <= 0) {
    request.session.requests.live.delete(request);
    return;
  }
  state.detached++;
  state.deadlines.set(request, state.nowMs + keepMs);
}

function refusedAtOnce(state: EngineState, session: Session): Refusal | undefined {
  const { options } = state;
  if (!state.open) {
    const closed = state.closedBecause();
    if (closed?.why === 'recovering' || state.fences.exhausted) return closed;
  }
  if (session.requests.live.size + session.keptKeys >= options.maxLocksPerSession) {
    return { why: 'limit', limit: 'locks-per-session' };
  }
  return state.kept >= options.maxKeptKeys ? { why: 'limit', limit: 'kept-keys' } : undefined;
}

function hasRoom({ options, table, detached }: EngineState, request: Request): boolean {
  // Detached ones are counted too: they may come back, and then there has to be room.
  return (
    table.waiting + detached < options.maxWaiters && table.waitersFor(request) < options.maxWaitersPerKey
  );
}

function noRoomFor({ options, table, detached }: EngineState): Refusal {
  const isFull = table.waiting + detached >= options.maxWaiters;
  return { why: 'limit', limit: isFull ? 'waiters' : 'waiters-per-key' };
}

function refused(refusal: Refusal): Refused {
  return { type: 'refused', refusal };
}
