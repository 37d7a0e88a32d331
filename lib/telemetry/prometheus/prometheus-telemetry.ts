import { register, type Registry } from 'prom-client';
import {
  optionError,
  refuseUnknown,
  type Telemetry,
  type TelemetryLabels,
  type TelemetrySpan,
} from '../../core/index.js';
import { collectorsIn, type Collectors } from './collectors.js';

export interface PrometheusTelemetryOptions {
  /** Where metrics are kept until they are scraped. Default: prom-client's own global registry. */
  readonly registry?: Registry;
}

const NO_SPAN: TelemetrySpan = { end: () => undefined };

/** Metrics only: Prometheus has no spans. */
class PrometheusTelemetry implements Telemetry {
  constructor(private readonly collectors: Collectors) {}

  count(name: string, labels: TelemetryLabels): void {
    this.collectors.counters.get(name)?.inc(labels);
  }

  measure(name: string, ms: number, labels: TelemetryLabels): void {
    this.collectors.durations.get(name)?.observe(labels, ms / 1_000);
  }

  shift(name: string, by: number, labels: TelemetryLabels): void {
    this.collectors.levels.get(name)?.inc(labels, by);
  }

  span(): TelemetrySpan {
    return NO_SPAN;
  }
}

/**
 * Reports an instance's figures to a prom-client registry: for the option `telemetry` of any instance, several too.
 * @throws InvalidOptionError: an option nobody knows, a registry that is none or has another metric of a klock name.
 */
export function prometheusTelemetry(options: PrometheusTelemetryOptions = {}): Telemetry {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('prometheusTelemetry', options, ['registry']);
  return new PrometheusTelemetry(
    collectorsIn('registry' in options ? checkRegistry(options.registry) : register),
  );
}

function checkRegistry(value: unknown): Registry {
  const given = value as Partial<Registry> | null | undefined;
  if (typeof given?.getSingleMetric === 'function' && typeof given.registerMetric === 'function')
    return value as Registry;
  throw optionError('registry', 'a Registry of prom-client', value);
}
