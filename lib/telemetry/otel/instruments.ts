import type { Counter, Histogram, Meter, UpDownCounter } from '@opentelemetry/api';
import { InvalidOptionError, METRICS, quote, type Metric } from '../../core/index.js';

/** Seconds. OpenTelemetry's own boundaries are made for milliseconds; a lock takes from microseconds to minutes. */
const BOUNDARIES = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
];

/** One instrument for every figure, made before the first of them is reported. */
export interface Instruments {
  readonly counters: ReadonlyMap<string, Counter>;
  readonly levels: ReadonlyMap<string, UpDownCounter>;
  readonly durations: ReadonlyMap<string, Histogram>;
}

/** @throws InvalidOptionError naming the instrument that the meter could not make. */
export function createInstruments(meter: Meter): Instruments {
  const counters = new Map<string, Counter>();
  const levels = new Map<string, UpDownCounter>();
  const durations = new Map<string, Histogram>();
  for (const [name, metric] of Object.entries<Metric>(METRICS)) {
    made(name, metric, () => {
      const { description } = metric;
      if (metric.kind === 'counter') counters.set(name, meter.createCounter(name, { description }));
      else if (metric.kind === 'level') levels.set(name, meter.createUpDownCounter(name, { description }));
      else durations.set(name, meter.createHistogram(name, inSeconds(description)));
    });
  }
  return { counters, levels, durations };
}

function inSeconds(description: string): Parameters<Meter['createHistogram']>[1] {
  return { description, unit: 's', advice: { explicitBucketBoundaries: BOUNDARIES } };
}

function made(name: string, { kind }: Metric, make: () => void): void {
  try {
    make();
  } catch (cause) {
    throw new InvalidOptionError(
      `meterProvider could not make the ${kind} ${name}: ${cause instanceof Error ? cause.message : quote(cause)}`,
      {
        option: 'meterProvider',
        value: name,
        cause,
      },
    );
  }
}
