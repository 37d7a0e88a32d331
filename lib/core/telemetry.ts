import type { LockKey } from './lock-key.js';
import { optionError } from './options.js';

/** Values of a label come from a small closed set: outcomes, drivers, codes; never keys, owners or messages. */
export type TelemetryLabels = Readonly<Record<string, string>>;

/** One operation being traced. */
export interface TelemetrySpan {
  /** Ends the span, with its outcome and the error it ended in. Once. */
  end(labels: TelemetryLabels, error?: unknown): void;
}

/** What a span is about, besides its labels. */
export interface SpanFacts {
  /** Has as many values as there are keys: an adapter shows it only where it was asked to. */
  readonly key: LockKey;
  /** The span of the acquire whose lock this is. */
  readonly acquire?: TelemetrySpan;
  /** Nobody's call caused it: what is active now belongs to somebody else and must not become its parent. */
  readonly background?: boolean;
}

/**
 * Where an instance reports figures, under the names of docs/guide/observability.md. Nothing is loaded and nothing paid
 * when absent. A member that throws disturbs no lock: it is told once, as a `warning` event.
 */
export interface Telemetry {
  /** One more of `name`. */
  count(name: string, labels: TelemetryLabels): void;
  /** One measurement in milliseconds. */
  measure(name: string, ms: number, labels: TelemetryLabels): void;
  /** `name` stands `by` higher than before, or lower. */
  shift(name: string, by: number, labels: TelemetryLabels): void;
  /** A span as child of the active one. */
  span(name: string, labels: TelemetryLabels, facts: SpanFacts): TelemetrySpan;
}

const silentSpan: TelemetrySpan = { end: () => undefined };

/** Reports nothing, and is never even called: the same as no telemetry. */
export const noTelemetry: Telemetry = {
  count: () => undefined,
  measure: () => undefined,
  shift: () => undefined,
  span: () => silentSpan,
};

/** @throws InvalidOptionError for what is no telemetry: it would fail at the first lock instead. */
export function checkTelemetry(option: string, value: unknown): Telemetry {
  const given = value as Partial<Record<keyof Telemetry, unknown>> | null;
  const members = ['count', 'measure', 'shift', 'span'] as const;
  if (
    typeof given === 'object' &&
    given !== null &&
    members.every((name) => typeof given[name] === 'function')
  )
    return value as Telemetry;
  throw optionError(option, 'a telemetry, such as otelTelemetry() of klock/otel', value);
}
