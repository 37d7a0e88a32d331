import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { checkBoolean, optionError, refuseUnknown } from '../../core/index.js';

export interface OtelTelemetryOptions {
  /**
   * Where metrics go; `false` for no metrics. Default: OpenTelemetry's global one as it is when figures are reported,
   * so that the order of start-up does not matter.
   */
  readonly meterProvider?: MeterProvider | false;
  /** Where spans go; `false` for no spans. Default: the global one. */
  readonly tracerProvider?: TracerProvider | false;
  /** Puts the key on spans, as `lock.key`, with the text of errors, which names it. Never on metrics. Default false. */
  readonly keys?: boolean;
  /** Throws at a metric that has no instrument instead of leaving it out: for tests. Default false. */
  readonly strict?: boolean;
}

/** The options after their check; undefined stands for the global provider. */
export interface CheckedOtelOptions {
  readonly meterProvider: MeterProvider | false | undefined;
  readonly tracerProvider: TracerProvider | false | undefined;
  readonly keys: boolean;
  readonly strict: boolean;
}

const KNOWN = ['meterProvider', 'tracerProvider', 'keys', 'strict'];

/** @throws InvalidOptionError naming the option and the value; a provider that is named must be there. */
export function checkOtelOptions(options: unknown): CheckedOtelOptions {
  if (typeof options !== 'object' || options === null) throw optionError('options', 'an object', options);
  refuseUnknown('otelTelemetry', options, KNOWN);
  const { keys = false, strict = false } = options as OtelTelemetryOptions;
  return {
    meterProvider: provider<MeterProvider>(options, 'meterProvider', 'getMeter'),
    tracerProvider: provider<TracerProvider>(options, 'tracerProvider', 'getTracer'),
    keys: checkBoolean('keys', keys),
    strict: checkBoolean('strict', strict),
  };
}

/** A name with nothing behind it is a provider that failed to be made, not a wish for the global one. */
function provider<T>(options: object, name: string, method: string): T | false | undefined {
  if (!(name in options)) return undefined;
  const value = (options as Record<string, unknown>)[name];
  if (value === false) return value;
  if (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Record<string, unknown>)[method] === 'function'
  )
    return value as T;
  throw optionError(name, `an OpenTelemetry provider with ${method}(), or false for none`, value);
}
