import { assert } from '../core/index.js';
import { AgedMemory } from './aged-memory.js';
import type { OpenSession, Refusal, SessionEndReason } from './commands.js';
import { DeadlineHeap } from './deadline-heap.js';
import type { RequestMemoryLimits } from './request-memory.js';
import { Session } from './session.js';

export interface SessionBookLimits extends RequestMemoryLimits {
  readonly rememberedSessions: number;
  readonly rememberSessionMs: number;
}

/** Why there is no such session. */
export type MissingSession = Extract<Refusal, { why: 'session-gone' | 'session-not-found' }>;

const NOT_FOUND: MissingSession = Object.freeze({ why: 'session-not-found' });

/** Live sessions and their leases, and how the last ended ones ended. */
export class SessionBook {
  private readonly live = new Map<string, Session>();
  private readonly leases = new DeadlineHeap<Session>();
  private readonly endedSessions: AgedMemory<SessionEndReason>;

  constructor(private readonly limits: SessionBookLimits) {
    this.endedSessions = new AgedMemory(limits.rememberedSessions, limits.rememberSessionMs);
  }

  get size(): number {
    return this.live.size;
  }

  /** Ended sessions still remembered. */
  get remembered(): number {
    return this.endedSessions.size;
  }

  /** When the next lease ends, or Infinity. */
  get nextMs(): number {
    return this.leases.nextMs;
  }

  open({ sessionId: id, leaseMs, client, host, local = false }: OpenSession, nowMs: number): Session {
    assert(!this.live.has(id), 'a session id is used once');
    const session = new Session(id, leaseMs, client, this.limits, local, host);
    this.live.set(id, session);
    this.leases.set(session, nowMs + leaseMs);
    return session;
  }

  get(id: string): Session | undefined {
    return this.live.get(id);
  }

  renew(session: Session, nowMs: number): void {
    assert(nowMs < session.dueMs, 'a lease that is over is never revived');
    this.leases.set(session, nowMs + session.leaseMs);
    session.requests.dropAged(nowMs);
  }

  /** Every session whose lease is over, soonest first: exactly at its end it is. */
  takeDue(nowMs: number): Session[] {
    const due: Session[] = [];
    for (let next = this.leases.takeDue(nowMs); next !== undefined; next = this.leases.takeDue(nowMs)) {
      due.push(next);
    }
    return due;
  }

  end(session: Session, reason: SessionEndReason, nowMs: number): void {
    this.live.delete(session.id);
    this.leases.remove(session);
    this.endedSessions.remember(session.id, reason, nowMs);
  }

  /** Why an id names no live session. */
  missing(id: string, nowMs: number): MissingSession {
    const reason = this.endedSessions.get(id, nowMs);
    return reason === undefined ? NOT_FOUND : { why: 'session-gone', reason };
  }

  /** Ended sessions still remembered, oldest first. */
  ended(): IterableIterator<[id: string, reason: SessionEndReason]> {
    return this.endedSessions.entries();
  }

  all(): IterableIterator<Session> {
    return this.live.values();
  }
}
