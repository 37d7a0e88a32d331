import {
  MAX_FENCE,
  systemClock,
  systemRandom,
  type Clock,
  type HolderPage,
  type LockKey,
  type LockReport,
  type PageOptions,
  type Random,
  type Timer,
} from '../../core/index.js';
import {
  Engine,
  type Answers,
  type CallId,
  type Effect,
  type EngineCommand,
  type Grant,
  type LateAnswer,
  type LocalCall,
  type SessionEndReason,
} from '../../engine/index.js';
import type { LocalStore } from './local-store.js';

/** How long after its last waiter the timer may still keep the process: looked at late, since under contention waiters come and go. */
const LET_GO_MS = 20;

let stores = 0;

/** Locks of this process: an engine with the machine's clock. Share one between instances to let them exclude each other. */
export class MemoryStore implements LocalStore {
  readonly store = `memory:${process.pid}:${++stores}`;
  readonly condition = 'ok';
  private readonly engine: Engine;
  private readonly watchers = new Map<string, Set<(reason: SessionEndReason) => void>>();
  private readonly revocations = new Map<string, (grant: Grant) => void>();
  private timer: Timer | undefined = undefined;
  private timerAtMs = Infinity;
  private timerKeepsAlive = false;
  private lettingGo = false;

  constructor(
    readonly clock: Clock = systemClock,
    random: Random = systemRandom,
  ) {
    this.engine = new Engine({
      // Fences start at the time, so that a resource that outlives the process has seen smaller ones only (design D6).
      lastFence: BigInt(Math.floor(clock.wallMs())) * 1_000n,
      reservedFence: MAX_FENCE,
      // A call in process is made once: no repeat of it can arrive later.
      rememberedRequests: 0,
      mintToken: () => `lk_${random.id()}`,
    });
  }

  apply<C extends EngineCommand>(command: C, nowMs = this.clock.monoMs()): Answers[C['type']] {
    const answer = this.engine.answer(command, nowMs);
    const effects = this.engine.takeEffects();
    for (let at = 0; at < effects.length; at++) this.carryOut(effects[at] as Effect);
    this.seeToTimer();
    return answer;
  }

  onSessionEnd(sessionId: string, listener: (reason: SessionEndReason) => void): Disposable {
    const listeners = this.watchers.get(sessionId) ?? new Set();
    this.watchers.set(sessionId, listeners.add(listener));
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0) this.watchers.delete(sessionId);
      },
    };
  }

  onRevoked(sessionId: string, listener: (grant: Grant) => void): Disposable {
    this.revocations.set(sessionId, listener);
    return { [Symbol.dispose]: () => void this.revocations.delete(sessionId) };
  }

  waitingCalls(sessionId: string): readonly LocalCall[] {
    return this.engine.waitingCalls(sessionId);
  }

  inspect(key: LockKey): LockReport {
    return this.engine.inspect(key, this.clock.monoMs());
  }

  holders(page: PageOptions): HolderPage {
    return this.engine.holders(page, this.clock.monoMs());
  }

  private carryOut(effect: Effect): void {
    if (effect.type === 'call-answered') this.answer(effect.callId, effect.answer);
    else this.announceEnd(effect);
  }

  private announceEnd(effect: Effect): void {
    if (effect.type === 'session-ended') this.announce(effect.sessionId, effect.reason);
    else if (effect.type === 'grant-revoked') this.revocations.get(effect.grant.sessionId)?.(effect.grant);
    // Nothing to make durable: all fences are reserved from the start.
  }

  /** All calls are made in this process: there are none with a number. */
  private answer(call: CallId, answer: LateAnswer): void {
    if (typeof call !== 'number') call.answered(answer);
  }

  private announce(sessionId: string, reason: SessionEndReason): void {
    const listeners = this.watchers.get(sessionId);
    this.watchers.delete(sessionId);
    for (const listener of listeners ?? []) listener(reason);
  }

  private get isWaitedFor(): boolean {
    return this.engine.waiting > 0;
  }

  private seeToTimer(): void {
    if (this.timerKeepsAlive !== this.isWaitedFor) {
      if (this.timerKeepsAlive) this.letGo();
      else return this.arm();
    }
    if (this.engine.wakesBefore(this.timerAtMs)) this.arm();
  }

  /** Nobody waits any more: a process that has nothing else to do must not stay until the longest wait would have ended. */
  private letGo(): void {
    if (this.lettingGo) return;
    this.lettingGo = true;
    this.clock.after(LET_GO_MS, () => {
      this.lettingGo = false;
      if (this.timerKeepsAlive && !this.isWaitedFor) this.arm();
    });
  }

  /** One timer for the whole engine. It keeps the process alive only while someone waits for an answer. */
  private arm(): void {
    this.timer?.cancel();
    this.timerAtMs = this.engine.wakeAtMs;
    this.timerKeepsAlive = this.isWaitedFor;
    if (this.timerAtMs === Infinity) return;
    this.timer = this.clock.after(
      this.timerAtMs - this.clock.monoMs(),
      () => {
        this.timerAtMs = Infinity;
        this.timerKeepsAlive = false;
        this.apply({ type: 'wake' });
      },
      { keepAlive: this.timerKeepsAlive },
    );
  }
}
