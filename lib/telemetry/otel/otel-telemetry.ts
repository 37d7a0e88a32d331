import {
  InvalidOptionError,
  quote,
  type SpanFacts,
  type Telemetry,
  type TelemetryLabels,
  type TelemetrySpan,
} from '../../core/index.js';
import { givenMeter, globalMeter, type MeterSource } from './meter-source.js';
import { checkOtelOptions, type OtelTelemetryOptions } from './otel-options.js';
import { OtelSpans } from './otel-spans.js';

const NO_SPAN: TelemetrySpan = { end: () => undefined };

class OtelTelemetry implements Telemetry {
  constructor(
    private readonly instruments: MeterSource | undefined,
    private readonly spans: OtelSpans | undefined,
    private readonly strict: boolean,
  ) {}

  count(name: string, labels: TelemetryLabels): void {
    const counters = this.instruments?.().counters;
    if (counters !== undefined) this.known(counters, name)?.add(1, labels);
  }

  measure(name: string, ms: number, labels: TelemetryLabels): void {
    const durations = this.instruments?.().durations;
    if (durations !== undefined) this.known(durations, name)?.record(ms / 1_000, labels);
  }

  shift(name: string, by: number, labels: TelemetryLabels): void {
    const levels = this.instruments?.().levels;
    if (levels !== undefined) this.known(levels, name)?.add(by, labels);
  }

  span(name: string, labels: TelemetryLabels, facts: SpanFacts): TelemetrySpan {
    return this.spans?.start(name, labels, facts) ?? NO_SPAN;
  }

  private known<T>(instruments: ReadonlyMap<string, T>, name: string): T | undefined {
    const instrument = instruments.get(name);
    if (instrument !== undefined || !this.strict) return instrument;
    throw new InvalidOptionError(`there is no such metric: ${quote(name)}`, { option: 'name', value: name });
  }
}

/**
 * Reports an instance's figures and spans to OpenTelemetry: for the option `telemetry` of any instance, several too.
 * Metrics carry `driver`, `outcome` and `reason`, and nothing that has as many values as there are keys.
 * @throws InvalidOptionError: an option nobody knows, a provider that is none, an instrument that could not be made.
 */
export function otelTelemetry(options: OtelTelemetryOptions = {}): Telemetry {
  const { meterProvider, tracerProvider, keys, strict } = checkOtelOptions(options);
  const global = meterProvider === undefined ? globalMeter() : undefined;
  const given =
    meterProvider === undefined || meterProvider === false ? undefined : givenMeter(meterProvider);
  const spans = tracerProvider === false ? undefined : new OtelSpans(tracerProvider, keys);
  return new OtelTelemetry(global ?? given, spans, strict);
}
