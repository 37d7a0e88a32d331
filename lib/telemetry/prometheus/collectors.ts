import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { InvalidOptionError, METRICS, type Metric } from '../../core/index.js';

/** Seconds; a lock takes from microseconds to minutes. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** One collector for every figure, under the names of the catalogue. */
export interface Collectors {
  readonly counters: ReadonlyMap<string, Counter>;
  readonly levels: ReadonlyMap<string, Gauge>;
  readonly durations: ReadonlyMap<string, Histogram>;
}

/**
 * Makes them in a registry, or takes those that another instance has made there.
 * @throws InvalidOptionError naming the metric that something else has taken.
 */
export function collectorsIn(registry: Registry): Collectors {
  const counters = new Map<string, Counter>();
  const levels = new Map<string, Gauge>();
  const durations = new Map<string, Histogram>();
  for (const [name, metric] of Object.entries<Metric>(METRICS)) {
    const config = configOf(name, metric, registry);
    if (metric.kind === 'counter') counters.set(name, known(config, Counter) ?? new Counter(config));
    else if (metric.kind === 'level') levels.set(name, known(config, Gauge) ?? new Gauge(config));
    else durations.set(name, known(config, Histogram) ?? new Histogram({ ...config, buckets: BUCKETS }));
  }
  return { counters, levels, durations };
}

interface Config {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}

function configOf(name: string, { kind, description, labels }: Metric, registry: Registry): Config {
  return {
    name: prometheusName(name, kind),
    help: description,
    labelNames: ['driver', ...labels],
    registers: [registry],
  };
}

/** `lock.acquire.duration` is `klock_acquire_duration_seconds`, as Prometheus writes names and units. */
function prometheusName(name: string, kind: Metric['kind']): string {
  const ending = { counter: '_total', level: '', duration: '_seconds' }[kind];
  // One flat namespace there: `lock_` alone would be anybody's.
  return `k${name.replaceAll('.', '_')}${ending}`;
}

/** Registries refuse a second metric of one name, and several instances report to one registry. */
function known<T>({ name, registers }: Config, kind: new (config: never) => T): T | undefined {
  const found: unknown = registers[0]?.getSingleMetric(name);
  if (found === undefined || found instanceof kind) return found;
  throw new InvalidOptionError(`registry has another metric named ${name}`, {
    option: 'registry',
    value: name,
  });
}
