import { MAX_FENCE, type LockKey } from '../core/index.js';
import {
  Engine,
  type AcquireAnswer,
  type Effect,
  type EngineCommand,
  type EngineOptions,
  type Outcome,
} from './index.js';

/** An engine with a clock that a test moves, and short words for its commands. */
export class TestEngine {
  readonly engine: Engine;
  readonly effects: Effect[] = [];
  nowMs = 0;
  private calls = 0;
  private releases = 0;

  constructor(options: Partial<EngineOptions> = {}) {
    let tokens = 0;
    this.engine = new Engine({
      lastFence: 0n,
      reservedFence: MAX_FENCE,
      mintToken: () => `lk_${++tokens}`,
      ...options,
    });
  }

  apply<C extends EngineCommand>(command: C): Outcome<C['type']>['answer'] {
    const { answer, effects } = this.engine.apply(command, this.nowMs);
    this.effects.push(...effects);
    return answer;
  }

  open(sessionId: string, leaseMs = 1_000_000): void {
    this.apply({ type: 'open-session', sessionId, leaseMs });
  }

  acquire(sessionId: string, requestId: string, key: LockKey, waitMs = 0): AcquireAnswer {
    return this.apply({
      type: 'acquire',
      callId: ++this.calls,
      sessionId,
      requestId,
      key,
      waitUntilMs: this.nowMs + waitMs,
    });
  }

  /** The call id of the last acquire. */
  get lastCall(): number {
    return this.calls;
  }

  release(sessionId: string, token: string): string {
    return this.apply({ type: 'release', sessionId, token, releaseId: `rel_${++this.releases}` }).type;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.apply({ type: 'wake' });
  }
}

/** The token of a granted answer. */
export function tokenOf(answer: AcquireAnswer): string {
  if (answer.type !== 'granted') throw new RangeError(`not granted: ${JSON.stringify(answer)}`);
  return answer.grant.token;
}
