import {
  assert,
  assertNever,
  type HolderPage,
  type LockKey,
  type LockReport,
  type PageOptions,
} from '../core/index.js';
import { acquire, detachCall } from './acquire.js';
import type {
  Answers,
  Effect,
  EngineCommand,
  EngineOptions,
  HoldGrants,
  LocalCall,
  Outcome,
} from './commands.js';
import { EngineState } from './engine-state.js';
import { expireDue } from './expiry.js';
import { inspect } from './inspect.js';
import { listHolders } from './list-holders.js';
import { cancelCall, cancelRequest, release, releaseGrant } from './release.js';
import { revoke } from './revoke.js';
import { closeSession, openSession, renewSession } from './session-commands.js';

/** How much an engine knows at the moment. All but `remembered` and `remembering` return to 0 when nobody uses it. */
export interface EngineStats {
  readonly sessions: number;
  /** Grants that have not ended. */
  readonly locks: number;
  readonly waiters: number;
  /** Requests that keep an arrival number for a repeat. */
  readonly detached: number;
  /** Keys that stay taken after their release. */
  readonly kept: number;
  /** Trees (L1 keys) with a holder or a waiter. */
  readonly trees: number;
  /** Finished requests and releases that live sessions may still repeat. */
  readonly remembered: number;
  /** Ended sessions remembered. */
  readonly endedSessions: number;
}

/**
 * The lock store as a decision procedure: told a command and the time, it answers and says what has to happen. It
 * waits for nothing, starts nothing and knows no clock; between the first and the last line of a decision nobody else
 * runs (design D1).
 */
export class Engine {
  /** @internal For {@link render}. */
  readonly state: EngineState;

  /** @throws InvalidOptionError naming the option and its value. */
  constructor(options: EngineOptions) {
    this.state = new EngineState(options);
  }

  /**
   * Decides one command. Whatever is over by `nowMs` ends first, its effects before those of the command itself.
   * `nowMs` is monotonic; an earlier value than before counts as the one before.
   */
  apply<C extends EngineCommand>(command: C, nowMs: number): Outcome<C['type']> {
    const answer = this.answer(command, nowMs);
    return { answer, effects: this.takeEffects() };
  }

  /** The first half of {@link apply}: for hosts to whom it matters that nothing is made that mostly holds no effects. */
  answer<C extends EngineCommand>(command: C, nowMs: number): Answers[C['type']] {
    const { state } = this;
    if (nowMs > state.nowMs) state.nowMs = nowMs;
    else assert(nowMs <= state.nowMs, 'the time is a number');
    expireDue(state);
    state.setTable();
    const answer = this.decide(command) as Answers[C['type']];
    this.seeToFences();
    return answer;
  }

  /** The other half: what the commands since the last call led to, in order. */
  takeEffects(): readonly Effect[] {
    return this.state.takeEffects();
  }

  /** When time alone next changes something; Infinity for never. The host sends `wake` then, or anything else. */
  get wakeAtMs(): number {
    const { state } = this;
    const next = Math.min(state.sessions.nextMs, state.deadlines.nextMs);
    return state.holdUntilMs > state.nowMs ? Math.min(next, state.holdUntilMs) : next;
  }

  /** Whether {@link wakeAtMs} is before `ms`: for hosts that ask after every command. */
  wakesBefore(ms: number): boolean {
    const { sessions, deadlines, holdUntilMs, nowMs } = this.state;
    return sessions.nextMs < ms || deadlines.nextMs < ms || (holdUntilMs > nowMs && holdUntilMs < ms);
  }

  /** Requests that stand in line. */
  get waiting(): number {
    return this.state.table.waiting;
  }

  /** Whether anybody holds the key or something that conflicts with it, as of the last command. */
  isLocked(key: LockKey): boolean {
    return this.state.table.isLocked(key[0], key.length === 2 ? key[1] : undefined);
  }

  /** Who holds and who waits; the first 100 of each. Changes nothing; a holder whose lease is over by `nowMs` is left out. */
  inspect(key: LockKey, nowMs: number): LockReport {
    return inspect(this.state, key, Math.max(nowMs, this.state.nowMs));
  }

  /** Who holds anything at all, the longest held first, in pages. Looks at every holder: for people, not for programs. */
  holders(page: PageOptions, nowMs: number): HolderPage {
    return listHolders(this.state, page, Math.max(nowMs, this.state.nowMs));
  }

  /** Calls of a local session that wait for an answer, the longest waiting first. */
  waitingCalls(sessionId: string): readonly LocalCall[] {
    const calls: LocalCall[] = [];
    for (const { calls: waiting, holder } of this.state.sessions.get(sessionId)?.requests.live.values() ?? [])
      if (waiting !== undefined && holder !== undefined) calls.push(holder);
    return calls;
  }

  stats(): EngineStats {
    const { state } = this;
    let remembered = 0;
    for (const session of state.sessions.all()) remembered += session.requests.remembered;
    return {
      sessions: state.sessions.size,
      locks: state.grants,
      waiters: state.table.waiting,
      detached: state.detached,
      kept: state.kept,
      trees: state.table.trees,
      remembered,
      endedSessions: state.sessions.remembered,
    };
  }

  private decide(command: EngineCommand): Answers[EngineCommand['type']] {
    const { state } = this;
    switch (command.type) {
      case 'acquire':
        return acquire(state, command);
      case 'release':
        return release(state, command);
      case 'release-grant':
        return releaseGrant(state, command);
      default: {
        const answer = this.decideRare(command);
        // Only these open or close the table, or end what kept it closed.
        state.setTable();
        return answer;
      }
    }
  }

  /** The others, apart from what is decided all the time. */
  private decideRare(
    command: Exclude<EngineCommand, { type: 'acquire' | 'release' | 'release-grant' }>,
  ): Answers[EngineCommand['type']] {
    const { state } = this;
    switch (command.type) {
      case 'revoke':
        return revoke(state, command);
      case 'renew-session':
        return renewSession(state, command);
      case 'cancel-request':
        return cancelRequest(state, command);
      case 'cancel-call':
        return cancelCall(state, command);
      case 'detach-call':
        return detachCall(state, command);
      case 'open-session':
        return openSession(state, command);
      case 'close-session':
        return closeSession(state, command);
      case 'drain':
        return this.drain();
      case 'fences-reserved':
        state.fences.reserve(command.upTo);
        return undefined;
      case 'hold-grants':
        return this.holdGrants(command);
      case 'wake':
        return undefined;
      default:
        return assertNever(command);
    }
  }

  private drain(): undefined {
    if (this.state.draining) return;
    this.state.draining = true;
    this.state.refuseEverybody({ why: 'draining' });
  }

  private holdGrants(command: HoldGrants): undefined {
    this.state.holdUntilMs = command.untilMs > 0 ? command.untilMs : -Infinity;
    this.state.onlyUntilMs = command.onlyUntilMs ?? Infinity;
  }

  private seeToFences(): void {
    if (this.state.fences.low) this.orderFences();
  }

  private orderFences(): void {
    const { fences } = this.state;
    const upTo = fences.ask();
    if (upTo !== undefined) this.state.tell({ type: 'reserve-fences', upTo });
    // Nothing can ever be granted again: an answer now is better than a wait without end.
    if (fences.exhausted && this.state.table.waiting > 0) this.state.refuseEverybody({ why: 'no-fence' });
  }
}
