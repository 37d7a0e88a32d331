import { assertNever, formatKey, keysConflict, type LockKey } from '../../core/index.js';
import {
  DETACHED_KEEP_MS,
  type Acquire,
  type AcquireAnswer,
  type CallId,
  type EngineCommand,
  type Grant,
  type Outcome,
  type RevokeAnswer,
  type SessionEndReason,
} from '../../engine/index.js';
import { ConflictMarks } from '../history/conflict-marks.js';
import type { BeliefLedger } from './belief-ledger.js';
import type { Invariant, Report } from './finding.js';

/** How long nothing may be granted without anything being wrong: fences are written, ownership is looked at. */
const STALL_MS = 1_500;
/** A process that was stopped in such a moment looks again first. */
const STALL_DECISIONS = 5;

/** A key that stays taken although its grant is over (`atLeastMs`). */
interface Kept {
  readonly grant: Grant;
  readonly untilMs: number;
}

interface Waiter {
  readonly id: string;
  readonly sessionId: string;
  readonly key: LockKey;
  readonly arrival: number;
  /** Since when it has been in line without a break, in the order of arrivals. */
  readonly inLineSince: number;
  /** Those who wait for it; nobody while it only keeps its place. */
  readonly calls: Set<CallId>;
  /** Until when it does. */
  placeUntilMs: number;
}

/**
 * Looks at every decision of the store's engine and keeps accounts of its own: grants, sessions, the order of arrival.
 * Knows the rules, not how the engine keeps them.
 */
export class StoreWatch {
  private readonly grants = new Map<string, Grant>();
  private readonly kept = new Set<Kept>();
  private readonly sessions = new Set<string>();
  private readonly tokens = new Map<string, string>();
  private readonly waiters = new Map<string, Waiter>();
  private readonly calls = new Map<CallId, Acquire>();
  private readonly fences = new Map<string, ConflictMarks<Grant>>();
  /** Trees whose first in line conflicts with nothing that is held: since when, and for how many decisions. */
  private readonly stalls = new Map<string, { readonly sinceMs: number; decisions: number }>();
  private arrivals = 0;
  private nowMs = 0;
  /** Decisions seen so far. */
  decisions = 0;

  constructor(
    private readonly beliefs: BeliefLedger,
    private readonly report: Report,
  ) {}

  /** What the store says is held. */
  get held(): Grant[] {
    return [...this.grants.values()];
  }

  /** The store's process is gone, and everything but the fences with it. */
  newLife(): void {
    this.grants.clear();
    this.kept.clear();
    this.sessions.clear();
    this.tokens.clear();
    this.waiters.clear();
    this.calls.clear();
    this.stalls.clear();
  }

  see(command: EngineCommand, { answer, effects }: Outcome, nowMs: number): void {
    this.nowMs = nowMs;
    this.decisions++;
    if (command.type === 'acquire') this.calls.set(command.callId, command);
    this.seeEnd(command, answer);
    for (const effect of effects) {
      if (effect.type === 'call-answered') this.answered(effect.callId, effect.answer);
      else if (effect.type === 'session-ended') this.sessionEnded(effect.sessionId, effect.reason);
      else if (effect.type === 'grant-revoked') this.revoked(effect.grant, command);
    }
    if (command.type === 'open-session' && answer?.type === 'session') this.sessions.add(command.sessionId);
    if (command.type === 'acquire') this.answered(command.callId, answer as AcquireAnswer);
    if (this.waiters.size > 0) this.lookForStalls();
    else this.stalls.clear();
  }

  /** Releases, cancels and detached calls take effect before what they lead to. */
  private seeEnd(command: EngineCommand, answer: Outcome['answer']): void {
    if (command.type === 'release' && answer?.type === 'released')
      this.released(command.token, command.sessionId, command.keepMs);
    if (command.type === 'revoke' && answer?.type === 'revoked') this.freed(answer);
    if (command.type === 'detach-call') this.detached(command.callId, command.keepMs ?? DETACHED_KEEP_MS);
    if (command.type !== 'cancel-request') return;
    const id = idOf(command.sessionId, command.requestId);
    this.waiters.delete(id);
    if (answer?.type === 'was-granted-now-released') this.over(this.tokens.get(id) ?? '', 'I9');
  }

  private revoked(grant: Grant, command: EngineCommand): void {
    const fence = command.type === 'revoke' ? command.fence : undefined;
    if (fence !== undefined && (fence < grant.fence || fence > lastOf(grant)))
      this.report('I9', `${text(grant)} was revoked in place of fence ${fence}`);
    if (!this.grants.delete(grant.token)) this.report('I8', `${text(grant)} was revoked and did not stand`);
    this.beliefs.revoke(grant);
  }

  /** Keys that were only kept are free, too. */
  private freed({ ended }: RevokeAnswer): void {
    for (const { fence } of ended)
      for (const each of this.kept) if (each.grant.fence === fence) this.kept.delete(each);
  }

  private released(token: string, sessionId: string, keepMs = 0): void {
    const grant = this.grants.get(token);
    // A repeat of a release that is remembered.
    if (grant === undefined) return;
    if (grant.sessionId !== sessionId)
      this.report('I9', `session ${sessionId} released the grant of another, ${text(grant)}`);
    this.over(token, 'I9');
    if (keepMs > 0) this.kept.add({ grant, untilMs: this.nowMs + keepMs });
  }

  /** Whatever keeps others from this key now. */
  private *inTheWayOf(key: LockKey): Generator<Grant> {
    for (const grant of this.grants.values()) if (keysConflict(grant.key, key)) yield grant;
    for (const each of this.kept) {
      if (each.untilMs <= this.nowMs) this.kept.delete(each);
      else if (keysConflict(each.grant.key, key)) yield each.grant;
    }
  }

  private answered(callId: CallId, answer: AcquireAnswer): void {
    const command = this.calls.get(callId);
    if (command === undefined) return;
    switch (answer.type) {
      case 'queued':
        return this.queued(command);
      case 'refused':
        this.calls.delete(callId);
        return this.refused(command);
      case 'granted':
        this.calls.delete(callId);
        return this.granted(command, answer.grant);
      default:
        return assertNever(answer);
    }
  }

  private queued({ sessionId, requestId, key, callId }: Acquire): void {
    const id = idOf(sessionId, requestId);
    const known = this.placeOf(id);
    const now = ++this.arrivals;
    const inLineSince = known !== undefined && known.calls.size > 0 ? known.inLineSince : now;
    const calls = (known?.calls ?? new Set<CallId>()).add(callId);
    const arrival = known?.arrival ?? now;
    this.waiters.set(id, { id, sessionId, key, arrival, inLineSince, calls, placeUntilMs: Infinity });
    if (!this.sessions.has(sessionId)) this.report('I6', `${id} waits in a session that is over`);
  }

  private refused({ sessionId, requestId, callId, keepPlaceMs = 0 }: Acquire): void {
    const waiter = this.waiters.get(idOf(sessionId, requestId));
    if (waiter?.calls.delete(callId) !== true || waiter.calls.size > 0) return;
    if (keepPlaceMs > 0) waiter.placeUntilMs = this.nowMs + keepPlaceMs;
    else this.waiters.delete(waiter.id);
  }

  private detached(callId: CallId, keepMs: number): void {
    this.calls.delete(callId);
    for (const waiter of this.waiters.values())
      if (waiter.calls.delete(callId) && waiter.calls.size === 0) waiter.placeUntilMs = this.nowMs + keepMs;
  }

  /** If it is in line or keeps its place. */
  private placeOf(id: string): Waiter | undefined {
    const waiter = this.waiters.get(id);
    return waiter !== undefined && waiter.placeUntilMs > this.nowMs ? waiter : undefined;
  }

  private granted({ sessionId, requestId }: Acquire, grant: Grant): void {
    // A repeat of the request that finds its own grant.
    if (this.grants.has(grant.token)) return;
    const id = idOf(sessionId, requestId);
    const before = this.tokens.get(id);
    if (before !== undefined) this.report('I8', `${id} was granted twice: ${text(grant)}`);
    if (!this.sessions.has(sessionId))
      this.report('I6', `${text(grant)} was granted to a session that is over`);
    for (const other of this.inTheWayOf(grant.key))
      this.report('I2', `${text(grant)} was granted while ${text(other)} stood`);
    this.checkFence(grant);
    this.checkOrder(id, grant);
    this.waiters.delete(id);
    this.tokens.set(id, grant.token);
    this.grants.set(grant.token, grant);
  }

  private checkFence(grant: Grant): void {
    const [l1] = grant.key;
    const marks = this.fences.get(l1) ?? new ConflictMarks<Grant>((a, b) => lastOf(a) > lastOf(b));
    this.fences.set(l1, marks);
    const before = marks.get(grant.key);
    if (before !== undefined && lastOf(before) >= grant.fence)
      this.report('I3', `${text(grant)} came after ${text(before)}`);
    marks.add(grant.key, grant);
  }

  /**
   * Nobody is granted past somebody it conflicts with who came before and waits. Who left the line and came back finds
   * those gone ahead who came meanwhile.
   */
  private checkOrder(id: string, grant: Grant): void {
    const place = this.placeOf(id);
    const [arrival, since] = [place?.arrival ?? Infinity, place?.inLineSince ?? Infinity];
    for (const waiter of this.waiters.values()) {
      if (waiter.id === id || waiter.calls.size === 0 || waiter.arrival > arrival) continue;
      if (waiter.inLineSince > since) continue;
      if (keysConflict(waiter.key, grant.key))
        this.report('I11', `${text(grant)} overtook ${waiter.id}, which waits for ${formatKey(waiter.key)}`);
    }
  }

  /** Whoever is first in line waits for a holder, or for a moment while nothing may be granted (I7). */
  private lookForStalls(): void {
    const first = new Map<string, Waiter>();
    for (const waiter of this.waiters.values()) {
      if (waiter.calls.size === 0) continue;
      const [l1] = waiter.key;
      if (waiter.arrival < (first.get(l1)?.arrival ?? Infinity)) first.set(l1, waiter);
    }
    for (const l1 of this.stalls.keys()) if (!first.has(l1)) this.stalls.delete(l1);
    for (const [l1, waiter] of first) this.lookForStall(l1, waiter);
  }

  private lookForStall(l1: string, waiter: Waiter): void {
    if (this.inTheWayOf(waiter.key).next().done !== true) {
      this.stalls.delete(l1);
      return;
    }
    const stall = this.stalls.get(l1) ?? { sinceMs: this.nowMs, decisions: 0 };
    stall.decisions++;
    this.stalls.set(l1, stall);
    if (this.nowMs - stall.sinceMs > STALL_MS && stall.decisions > STALL_DECISIONS)
      this.report(
        'I7',
        `${waiter.id} waits for ${formatKey(waiter.key)} although nothing that conflicts is held`,
      );
  }

  private sessionEnded(sessionId: string, reason: SessionEndReason): void {
    this.sessions.delete(sessionId);
    for (const waiter of [...this.waiters.values()])
      if (waiter.sessionId === sessionId) this.waiters.delete(waiter.id);
    for (const grant of [...this.grants.values()]) {
      if (grant.sessionId !== sessionId) continue;
      // A server that ends grants nothing any more: what is cut off there is what its successor's quarantine is for.
      if (reason === 'server_restarting') this.grants.delete(grant.token);
      else this.over(grant.token, 'I10');
    }
  }

  /** From now on the store may grant it to others: nobody may believe to hold it. */
  private over(token: string, invariant: Invariant): void {
    const grant = this.grants.get(token);
    if (grant === undefined) return;
    this.grants.delete(token);
    for (const belief of this.beliefs.holdersOf(grant.key, grant.fence, grant.span))
      this.report(invariant, `the store freed ${text(grant)} under ${belief.name}`);
  }
}

function idOf(sessionId: string, requestId: string): string {
  return `${sessionId}/${requestId}`;
}

function lastOf({ fence, span }: Grant): bigint {
  return fence + BigInt(span) - 1n;
}

function text({ key, fence, sessionId }: Grant): string {
  return `${formatKey(key)} with fence ${fence} for ${sessionId}`;
}
