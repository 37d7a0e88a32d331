/** Values of a label must come from a small closed set: outcomes, drivers, codes; never keys, owners or messages. */
export type TelemetryLabels = Readonly<Record<string, string>>;

/** One operation being traced. */
export interface TelemetrySpan {
  /** Ends the span with its outcome. */
  end(outcome: string, error?: unknown): void;
}

/** Where an instance reports figures. Nothing is loaded and nothing paid when absent. */
export interface Telemetry {
  /** One more of `name`. */
  count(name: string, labels: TelemetryLabels): void;
  /** One measurement in milliseconds. */
  measure(name: string, ms: number, labels: TelemetryLabels): void;
  /** A span as child of the active one. */
  span(name: string, attributes: TelemetryLabels): TelemetrySpan;
}

const silentSpan: TelemetrySpan = { end: () => undefined };

/** Reports nothing. */
export const noTelemetry: Telemetry = {
  count: () => undefined,
  measure: () => undefined,
  span: () => silentSpan,
};
