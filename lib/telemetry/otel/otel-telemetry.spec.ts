import {
  DiagLogLevel,
  context,
  diag,
  metrics,
  trace,
  SpanStatusCode,
  type Meter,
  type MeterProvider as ApiMeterProvider,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  MetricReader,
  PeriodicExportingMetricReader,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { FakeClock, METRICS, createKlock, isLockError, type KlockInstance } from '../../core/index.js';
import { memoryDriver } from '../../drivers/memory/index.js';
import { otelTelemetry, type OtelTelemetryOptions } from './index.js';

/** Collects when asked, not by time. */
class PulledReader extends MetricReader {
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }

  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
}

let clock: FakeClock;
let klock: KlockInstance;
let reader: PulledReader;
let meterProvider: MeterProvider;
let exporter: InMemorySpanExporter;
let tracerProvider: BasicTracerProvider;

function open(options: OtelTelemetryOptions = {}): void {
  clock = new FakeClock();
  const telemetry = otelTelemetry({ meterProvider, tracerProvider, ...options });
  klock = createKlock({ driver: memoryDriver(), ttlMs: 900, telemetry, clock });
}

function listen(): { readonly provider: MeterProvider; readonly reader: PulledReader } {
  const own = new PulledReader();
  return { provider: new MeterProvider({ readers: [own] }), reader: own };
}

beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => {
  context.disable();
  diag.disable();
});

beforeEach(() => {
  ({ provider: meterProvider, reader } = listen());
  exporter = new InMemorySpanExporter();
  tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  open();
});

async function collected(from = reader): Promise<MetricData[]> {
  const { resourceMetrics } = await from.collect();
  return resourceMetrics.scopeMetrics
    .filter(({ scope }) => scope.name === 'klock')
    .flatMap((scope) => scope.metrics);
}

async function metric(name: string, from = reader): Promise<MetricData | undefined> {
  return (await collected(from)).find(({ descriptor }) => descriptor.name === name);
}

async function points(name: string, from = reader): Promise<[unknown, unknown][]> {
  const found = await metric(name, from);
  return (found?.dataPoints ?? []).map(({ attributes, value }) => [attributes, value]);
}

const spans = (name: string): ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name);

/** What the SDK logs about its own use from now on, such as an event for a span that has ended. */
function complaintsOfTheSdk(): unknown[] {
  const told: unknown[] = [];
  const tell = (...args: unknown[]): void => void told.push(args);
  diag.setLogger({ error: tell, warn: tell, info: tell, debug: tell, verbose: tell }, DiagLogLevel.WARN);
  return told;
}

describe('metrics', () => {
  it('[L-76] counters, levels and durations arrive under their names, durations in seconds, with their labels', async () => {
    const lock = await klock.acquire('k');
    expect(await points('lock.held')).toEqual([[{ driver: 'memory' }, 1]]);
    await clock.advance(250);
    await lock.release();
    expect(await points('lock.acquire')).toEqual([[{ driver: 'memory', outcome: 'granted' }, 1]]);
    expect(await points('lock.release')).toEqual([[{ driver: 'memory', outcome: 'released' }, 1]]);
    expect(await points('lock.held')).toEqual([[{ driver: 'memory' }, 0]]);
    const hold = await metric('lock.hold.duration');
    expect(hold?.descriptor.unit).toBe('s');
    expect(hold?.dataPointType).toBe(DataPointType.HISTOGRAM);
    expect((hold?.dataPoints[0]?.value as Histogram).sum).toBeCloseTo(0.25, 6);
  });

  it('[L-76] durations fall into buckets made for seconds', async () => {
    await (await klock.acquire('k')).release();
    const found = await metric('lock.acquire.duration');
    const { buckets } = found?.dataPoints[0]?.value as Histogram;
    expect(Math.min(...buckets.boundaries)).toBeLessThan(0.001);
    expect(buckets.boundaries).toContain(0.25);
  });

  it('[L-81] carry no key, whatever happens and whatever is asked for', async () => {
    open({ keys: true });
    const lock = await klock.acquire('secret');
    await klock.tryAcquire('secret');
    await klock.acquire('secret', { waitMs: 0 }).catch(() => undefined);
    clock.block(5_000);
    await lock.release();
    expect(JSON.stringify((await collected()).map(({ dataPoints }) => dataPoints))).not.toContain('secret');
  });

  it('an instrument is there for every figure of the catalogue', async () => {
    const telemetry = otelTelemetry({ meterProvider, tracerProvider: false, strict: true });
    for (const [name, { kind }] of Object.entries(METRICS)) {
      if (kind === 'counter') telemetry.count(name, {});
      else if (kind === 'level') telemetry.shift(name, 1, {});
      else telemetry.measure(name, 1, {});
    }
    expect((await collected()).map(({ descriptor }) => descriptor.name).sort()).toEqual(
      Object.keys(METRICS).sort(),
    );
  });

  it('[L-78] an unknown name is left out; strict mode throws, naming it', () => {
    const lenient = otelTelemetry({ meterProvider });
    const strict = otelTelemetry({ meterProvider, strict: true });
    expect(() => lenient.count('klock.nonsense', {})).not.toThrow();
    expect(() => strict.count('klock.nonsense', {})).toThrow(/klock\.nonsense/);
    expect(() => strict.measure('lock.acquire', 1, {})).toThrow(/lock\.acquire/);
  });

  it('go to the global provider that is registered when they are reported, even if that is later than the options', async () => {
    metrics.disable();
    const late = createKlock({ driver: memoryDriver(), telemetry: otelTelemetry() });
    await (await late.acquire('k')).release();
    const own = listen();
    metrics.setGlobalMeterProvider(own.provider);
    await (await late.acquire('k')).release();
    metrics.disable();
    await late.close();
    expect(await points('lock.acquire', own.reader)).toEqual([[{ driver: 'memory', outcome: 'granted' }, 1]]);
  });

  it('are exported by the periodic reader as by any other', async () => {
    const memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const periodic = new PeriodicExportingMetricReader({ exporter: memory, exportIntervalMillis: 60_000 });
    open({ meterProvider: new MeterProvider({ readers: [periodic] }) });
    await (await klock.acquire('k')).release();
    await periodic.forceFlush();
    await periodic.shutdown();
    expect(JSON.stringify(memory.getMetrics())).toContain('lock.acquire');
  });
});

describe('spans', () => {
  it('[L-72] [L-79] acquire and release are children of the caller’s span, and release is linked to its acquire', async () => {
    const tracer = tracerProvider.getTracer('test');
    await tracer.startActiveSpan('request', async (request) => {
      const lock = await klock.acquire('k');
      await lock.release();
      request.end();
    });
    const [request] = spans('request');
    const [acquire] = spans('lock.acquire');
    const [release] = spans('lock.release');
    expect([acquire, release].map((span) => span?.parentSpanContext?.spanId)).toEqual(
      Array(2).fill(request?.spanContext().spanId),
    );
    expect(release?.links.map((link) => link.context.spanId)).toEqual([acquire?.spanContext().spanId]);
    expect(acquire?.attributes).toEqual({
      'lock.driver': 'memory',
      'lock.operation': 'acquire',
      'lock.outcome': 'granted',
    });
    expect(acquire?.instrumentationScope.name).toBe('klock');
  });

  it('[L-72] carry the key only where that was asked for', async () => {
    await (await klock.acquire(['a', 'b'])).release();
    open({ keys: true });
    await (await klock.acquire(['a', 'b'])).release();
    expect(exporter.getFinishedSpans().map(({ attributes }) => attributes['lock.key'])).toEqual([
      undefined,
      undefined,
      'a/b',
      'a/b',
    ]);
  });

  it('[L-75] an error is recorded with its class and code, its text only where keys may be shown', async () => {
    await klock.acquire('secret');
    await klock.acquire('secret', { waitMs: 0 }).catch(() => undefined);
    const [, busy] = spans('lock.acquire');
    expect(busy?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'LOCK_TIMEOUT' });
    expect(busy?.attributes['lock.reason']).toBe('LOCK_TIMEOUT');
    expect(busy?.events[0]?.attributes?.['exception.type']).toBe('LockTimeoutError');
    expect(JSON.stringify([busy?.attributes, busy?.events, busy?.status])).not.toContain('secret');
    open({ keys: true });
    await klock.acquire('secret');
    await klock.acquire('secret', { waitMs: 0 }).catch(() => undefined);
    expect(spans('lock.acquire')[3]?.events[0]?.attributes?.['exception.message']).toContain('secret');
  });

  it('tryAcquire of an occupied key is an answer, not an error', async () => {
    await klock.acquire('k');
    expect(await klock.tryAcquire('k')).toBeUndefined();
    const [, busy] = spans('lock.acquire');
    expect([busy?.attributes['lock.outcome'], busy?.status.code]).toEqual(['busy', SpanStatusCode.UNSET]);
  });

  it('[L-73] [L-74] a loss is a root span linked to its acquire, with the error, and an event of the caller’s span while that is open', async () => {
    const tracer = tracerProvider.getTracer('test');
    await tracer.startActiveSpan('request', async (request) => {
      const lock = await klock.acquire('k', { maxHoldMs: 300 });
      await clock.advance(300);
      expect(lock.held).toBe(false);
      request.end();
    });
    const [request] = spans('request');
    const [lost, ...more] = spans('lock.lost');
    expect(more).toEqual([]);
    expect(lost?.parentSpanContext).toBeUndefined();
    expect(lost?.links.map((link) => link.context.spanId)).toEqual([
      spans('lock.acquire')[0]?.spanContext().spanId,
    ]);
    expect(lost?.attributes['lock.reason']).toBe('max-hold');
    expect(lost?.status.code).toBe(SpanStatusCode.ERROR);
    expect(request?.events.map(({ name }) => name)).toEqual(['lock.lost']);
  });

  it('[WL-16] a lock that is renewed for long makes no span, and its loss adds none to a trace that has ended', async () => {
    const complaints = complaintsOfTheSdk();
    const tracer = tracerProvider.getTracer('test');
    await tracer.startActiveSpan('request', async (request) => {
      await klock.acquire('k', { maxHoldMs: 60_000 });
      request.end();
    });
    await clock.advance(60_000);
    const names = exporter.getFinishedSpans().map(({ name }) => name);
    expect(names).toEqual(['lock.acquire', 'request', 'lock.lost']);
    expect(spans('request')[0]?.events).toEqual([]);
    expect(complaints).toEqual([]);
    expect(spans('lock.lost')[0]?.spanContext().traceId).not.toBe(spans('request')[0]?.spanContext().traceId);
  });

  it('go to the global provider unless one is given', async () => {
    trace.setGlobalTracerProvider(tracerProvider);
    const plain = createKlock({ driver: memoryDriver(), telemetry: otelTelemetry({ meterProvider: false }) });
    await (await plain.acquire('k')).release();
    trace.disable();
    await plain.close();
    expect(spans('lock.release')).toHaveLength(1);
  });

  it('and metrics can each be left out', async () => {
    open({ tracerProvider: false });
    await (await klock.acquire('k')).release();
    expect(exporter.getFinishedSpans()).toEqual([]);
    open({ meterProvider: false });
    await (await klock.acquire('k')).release();
    expect(exporter.getFinishedSpans()).toHaveLength(2);
    expect(await points('lock.acquire')).toEqual([[{ driver: 'memory', outcome: 'granted' }, 1]]);
  });
});

describe('options', () => {
  it.each([
    ['meterProvider', undefined],
    ['meterProvider', null],
    ['meterProvider', {}],
    ['tracerProvider', undefined],
    ['tracerProvider', 'jaeger'],
    ['keys', 'yes'],
    ['strict', 1],
    ['meter', {}],
  ])('[L-77] %s: %p is refused, named', (name, value) => {
    let error: unknown;
    try {
      otelTelemetry({ [name]: value });
    } catch (caught) {
      error = caught;
    }
    expect(isLockError(error, 'INVALID_OPTION')).toBe(true);
    expect(error).toMatchObject({ option: name });
  });

  it('an instrument that cannot be made is an error that names it', () => {
    const broken: ApiMeterProvider = {
      getMeter: (...args) =>
        Object.assign(Object.create(meterProvider.getMeter(...args)) as Meter, {
          createHistogram: () => {
            throw new Error('quota');
          },
        }),
    };
    expect(() => otelTelemetry({ meterProvider: broken })).toThrow(/lock\.acquire\.duration.*quota/);
  });
});
