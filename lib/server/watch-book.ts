import type { SessionEndReason } from '../engine/index.js';
import { PROTOCOL_VERSION, type ServerEvent, type WatchEventType, type WireCode } from '../rpc/index.js';
import { maskId } from '../core/index.js';
import type { ServerCounters } from './server-counters.js';
import { MAX_WATCHES, MAX_WATCHES_PER_SESSION } from './server-limits.js';
import type { ServerLog } from './server-log.js';

/** Where the events of one watch go. */
export interface WatchSink {
  /** Hands one event over without waiting; false where it cannot be. */
  deliver(event: ServerEvent): boolean;
  /** No more events: the stream ends with OK. */
  end(): void;
}

export interface WatchBookParts {
  readonly serverId: string;
  readonly counters: ServerCounters;
  readonly log: ServerLog;
  readonly maxWatches?: number;
  readonly maxPerSession?: number;
}

/** Who watches which session. */
export class WatchBook {
  private readonly watches = new Map<string, Set<WatchSink>>();
  private size = 0;

  constructor(private readonly parts: WatchBookParts) {}

  /** False where the session, or the server, has all the watches it may have. */
  add(sessionId: string, sink: WatchSink): boolean {
    const { maxWatches = MAX_WATCHES, maxPerSession = MAX_WATCHES_PER_SESSION } = this.parts;
    const sinks = this.watches.get(sessionId) ?? new Set();
    if (this.size >= maxWatches || sinks.size >= maxPerSession) return false;
    this.watches.set(sessionId, sinks.add(sink));
    this.count(1);
    return true;
  }

  remove(sessionId: string, sink: WatchSink): void {
    const sinks = this.watches.get(sessionId);
    if (sinks?.delete(sink) !== true) return;
    if (sinks.size === 0) this.watches.delete(sessionId);
    this.count(-1);
  }

  /** The session has ended, or is declared to have: its watches are told and end. */
  announce(sessionId: string, reason: SessionEndReason): void {
    const sinks = this.watches.get(sessionId);
    if (sinks === undefined) return;
    this.watches.delete(sessionId);
    this.count(-sinks.size);
    const event = this.event(
      'SESSION_INVALIDATED',
      'SESSION_GONE',
      `the session has ended: ${reason}`,
      sessionId,
    );
    for (const sink of sinks) this.finish(sink, event);
  }

  announceAll(reason: SessionEndReason): void {
    for (const sessionId of [...this.watches.keys()]) this.announce(sessionId, reason);
  }

  event(type: WatchEventType, code: WireCode | '', message: string, sessionId: string): ServerEvent {
    return {
      type,
      message,
      code,
      sessionId,
      serverId: this.parts.serverId,
      protocolVersion: PROTOCOL_VERSION,
    };
  }

  private finish(sink: WatchSink, event: ServerEvent): void {
    if (!sink.deliver(event)) {
      this.parts.counters.add('watcher_event_drops');
      this.parts.log.write('warn', 'watcher_event_dropped', {
        type: event.type,
        session: maskId(event.sessionId),
      });
    }
    sink.end();
  }

  private count(by: number): void {
    this.size += by;
    this.parts.counters.set('active_watchers', this.size);
  }
}
