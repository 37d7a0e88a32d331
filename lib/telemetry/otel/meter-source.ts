import { metrics, type MeterProvider } from '@opentelemetry/api';
import { createInstruments, type Instruments } from './instruments.js';
import { SCOPE } from './scope.js';

/** The instruments to report to now. */
export type MeterSource = () => Instruments;

/** @throws InvalidOptionError naming the instrument that the provider's meter could not make. */
export function givenMeter(provider: MeterProvider): MeterSource {
  const instruments = createInstruments(provider.getMeter(SCOPE));
  return () => instruments;
}

/**
 * OpenTelemetry's metrics, unlike its traces, hand out no stand-in that becomes real when an SDK is registered:
 * whoever asks before that is told nothing for ever. Options of a Nest module are made that early.
 */
export function globalMeter(): MeterSource {
  let provider: MeterProvider | undefined;
  let instruments: Instruments | undefined;
  return () => {
    const now = metrics.getMeterProvider();
    if (instruments === undefined || now !== provider) {
      instruments = createInstruments(now.getMeter(SCOPE));
      provider = now;
    }
    return instruments;
  };
}
