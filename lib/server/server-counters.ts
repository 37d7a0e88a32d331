/** What a server has counted since its start; the last two are gauges. Names are those of the log record. */
export interface CounterValues {
  unary_calls: number;
  /** Refused by gRPC status or by an error in the body. */
  unary_failures: number;
  stream_calls: number;
  stream_failures: number;
  auth_failures: number;
  rate_limited: number;
  session_invalidations: number;
  /** Grants an operator ended. */
  locks_revoked: number;
  watcher_event_drops: number;
  active_watchers: number;
  rate_limiter_entries: number;
}

export type CounterName = keyof CounterValues;

/** Counts of one server. */
export class ServerCounters {
  private readonly values: CounterValues = {
    unary_calls: 0,
    unary_failures: 0,
    stream_calls: 0,
    stream_failures: 0,
    auth_failures: 0,
    rate_limited: 0,
    session_invalidations: 0,
    locks_revoked: 0,
    watcher_event_drops: 0,
    active_watchers: 0,
    rate_limiter_entries: 0,
  };

  add(name: CounterName, by = 1): void {
    this.values[name] += by;
  }

  set(name: CounterName, value: number): void {
    this.values[name] = value;
  }

  snapshot(): Readonly<CounterValues> {
    return { ...this.values };
  }
}
