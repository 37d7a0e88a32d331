import {
  NumberMap,
  type Clock,
  type HolderPage,
  type LockKey,
  type LockReport,
  type PageOptions,
  type Timer,
} from '../core/index.js';
import {
  type Acquire,
  type Answers,
  type CallId,
  type Effect,
  Engine,
  type EngineCommand,
  type EngineOptions,
  type EngineStats,
  type Grant,
  type LateAnswer,
  type LocalCall,
  type SessionEndReason,
} from '../engine/index.js';

export interface EngineHostEvents {
  /** A session ended; its locks are granted to others only after this returned. */
  onSessionEnded(sessionId: string, reason: SessionEndReason): void;
  /** An operator ended a grant; its key is granted to others only after this returned. */
  onRevoked(grant: Grant, by: string | undefined): void;
  /** Makes fences up to here durable; rejects where that failed. */
  reserveFences(upTo: bigint): Promise<void>;
  /** A reservation failed and is tried again. */
  onReserveFailed(cause: unknown): void;
}

const RETRY_RESERVE_MS = 1_000;

/** Runs an engine: gives it the time, wakes it, and does what it says, in its order. */
export class EngineHost {
  private readonly engine: Engine;
  private readonly answers = new NumberMap<(answer: LateAnswer) => void>();
  private readonly live = new Set<string>();
  private readonly endListeners = new Map<string, Set<(reason: SessionEndReason) => void>>();
  private readonly pending: Effect[] = [];
  private dispatching = false;
  private lastCallId = 0;
  private timer: Timer | undefined = undefined;
  private timerAtMs = Infinity;
  private stopped = false;
  private gate: (() => EngineCommand | undefined) | undefined = undefined;
  /** The time of the turn that runs; NaN outside one. */
  private turnMs = NaN;

  constructor(
    options: EngineOptions,
    private readonly clock: Clock,
    private readonly events: EngineHostEvents,
  ) {
    this.engine = new Engine(options);
  }

  /** Ids of the sessions that live, oldest first. */
  get sessions(): ReadonlySet<string> {
    return this.live;
  }

  stats(): EngineStats {
    return this.engine.stats();
  }

  inspect(key: LockKey): LockReport {
    return this.engine.inspect(key, this.clock.monoMs());
  }

  waitingCalls(sessionId: string): readonly LocalCall[] {
    return this.engine.waitingCalls(sessionId);
  }

  holders(page: PageOptions): HolderPage {
    return this.engine.holders(page, this.clock.monoMs());
  }

  /** Asked before every command; what it returns is applied first. */
  setGate(gate: () => EngineCommand | undefined): void {
    this.gate = gate;
  }

  /** The monotonic time; that of the turn inside one. */
  get nowMs(): number {
    return Number.isNaN(this.turnMs) ? this.clock.monoMs() : this.turnMs;
  }

  /**
   * Runs `work`, whose commands came together: one look at the gate, one reading of the clock and one setting of the alarm
   * serve them all. Time that is read too early ends leases, waits and kept keys a moment later, never sooner; and a lease
   * renewed by it starts before its reply can be sent.
   */
  turn(work: () => void): void {
    this.passGate();
    this.turnMs = this.clock.monoMs();
    try {
      work();
    } finally {
      this.turnMs = NaN;
      this.dispatch();
      this.arm();
    }
  }

  newCallId(): number {
    return ++this.lastCallId;
  }

  /** Decides one command and does what follows from it. */
  apply<C extends EngineCommand>(command: C): Answers[C['type']] {
    const inTurn = !Number.isNaN(this.turnMs);
    if (!inTurn) this.passGate();
    const answer = this.decide(command);
    this.dispatch();
    if (!inTurn) this.arm();
    return answer;
  }

  /** Asks for a lock; `settle` gets the answer, at once or later, exactly once unless the call is detached. */
  ask(command: Acquire & { readonly callId: number }, settle: (answer: LateAnswer) => void): void {
    this.answers.set(command.callId, settle);
    const answer = this.apply(command);
    if (answer.type === 'queued') return;
    this.answers.delete(command.callId);
    settle(answer);
  }

  /** The call of an {@link ask} ended without its answer; its request keeps its place for a while. */
  detach(callId: number): void {
    if (this.answers.delete(callId)) this.apply({ type: 'detach-call', callId });
  }

  /** Calls `listener` once with the answer of a call that {@link apply} has just queued. */
  onAnswer(callId: number, listener: (answer: LateAnswer) => void): void {
    this.answers.set(callId, listener);
  }

  offAnswer(callId: number): void {
    this.answers.delete(callId);
  }

  /** Calls `listener` once when the session ends, before its locks are granted to others. */
  onSessionEnd(sessionId: string, listener: (reason: SessionEndReason) => void): Disposable {
    const listeners = this.endListeners.get(sessionId) ?? new Set();
    this.endListeners.set(sessionId, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.endListeners.get(sessionId) === listeners)
          this.endListeners.delete(sessionId);
      },
    };
  }

  /** No timer runs after this. */
  stop(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  private decide<C extends EngineCommand>(command: C): Answers[C['type']] {
    const { answer, effects } = this.engine.apply(command, this.nowMs);
    if (command.type === 'open-session') this.noteOpened(answer as Answers['open-session']);
    // Mostly none: an iterator over nothing would still be made.
    if (effects.length > 0) for (const effect of effects) this.pending.push(effect);
    return answer;
  }

  private passGate(): void {
    const first = this.gate?.();
    if (first !== undefined) this.decide(first);
  }

  private noteOpened(answer: Answers['open-session']): void {
    if (answer.type === 'session') this.live.add(answer.sessionId);
  }

  /** Effects of commands given from inside an effect come after those already there, never between them. */
  private dispatch(): void {
    if (this.dispatching || this.pending.length === 0) return;
    this.dispatching = true;
    try {
      for (let at = 0; at < this.pending.length; at++) this.perform(this.pending[at]!);
    } finally {
      this.pending.length = 0;
      this.dispatching = false;
    }
  }

  private perform(effect: Effect): void {
    switch (effect.type) {
      case 'call-answered':
        return this.answer(effect.callId, effect.answer);
      case 'session-ended':
        return this.announce(effect.sessionId, effect.reason);
      case 'grant-revoked':
        return this.events.onRevoked(effect.grant, effect.by);
      case 'reserve-fences':
        return void this.reserve(effect.upTo);
    }
  }

  private answer(callId: CallId, answer: LateAnswer): void {
    if (typeof callId !== 'number') return callId.answered(answer);
    const listener = this.answers.delete(callId);
    listener?.(answer);
  }

  private announce(sessionId: string, reason: SessionEndReason): void {
    this.live.delete(sessionId);
    const listeners = this.endListeners.get(sessionId);
    this.endListeners.delete(sessionId);
    this.events.onSessionEnded(sessionId, reason);
    for (const listener of listeners ?? []) listener(reason);
  }

  private async reserve(upTo: bigint): Promise<void> {
    try {
      await this.events.reserveFences(upTo);
    } catch (cause) {
      this.events.onReserveFailed(cause);
      if (!this.stopped) this.clock.after(RETRY_RESERVE_MS, () => void this.reserve(upTo));
      return;
    }
    if (!this.stopped) this.apply({ type: 'fences-reserved', upTo });
  }

  /** One timer for everything. An earlier one than needed is left alone: it finds nothing due and sets the next. */
  private arm(): void {
    const { wakeAtMs } = this.engine;
    if (this.stopped || wakeAtMs === Infinity || wakeAtMs >= this.timerAtMs) return;
    this.timer?.cancel();
    this.timerAtMs = wakeAtMs;
    this.timer = this.clock.after(wakeAtMs - this.clock.monoMs(), () => {
      this.timerAtMs = Infinity;
      if (!this.stopped) this.apply({ type: 'wake' });
    });
  }
}
