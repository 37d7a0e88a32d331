import {
  context,
  trace,
  type Attributes,
  type SpanOptions,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import type { SpanFacts, TelemetryLabels, TelemetrySpan } from '../../core/index.js';
import { OtelSpan, attributesOf } from './otel-span.js';
import { SCOPE } from './scope.js';

/** Begins the spans of one telemetry. */
export class OtelSpans {
  constructor(
    private readonly provider: TracerProvider | undefined,
    private readonly keys: boolean,
  ) {}

  start(name: string, labels: TelemetryLabels, facts: SpanFacts): TelemetrySpan {
    const attributes = this.attributes(labels, facts);
    const acquire = facts.acquire instanceof OtelSpan ? facts.acquire : undefined;
    if (facts.background === true) tellCaller(acquire, name, attributes);
    const caller = facts.background === true ? undefined : trace.getSpan(context.active());
    const span = this.tracer.startSpan(name, {
      attributes,
      ...rooted(facts),
      ...linked(acquire),
    });
    return new OtelSpan(span, caller, this.keys);
  }

  private get tracer(): Tracer {
    return (this.provider ?? trace).getTracer(SCOPE);
  }

  private attributes(labels: TelemetryLabels, { key }: SpanFacts): Attributes {
    const attributes = attributesOf(labels);
    return this.keys ? { ...attributes, 'lock.key': key.join('/') } : attributes;
  }
}

/** What happens in the background runs in whatever context its timer was made in: not its parent. */
function rooted({ background }: SpanFacts): SpanOptions {
  return background === true ? { root: true } : {};
}

/** Whoever acquired sees it in their own trace, if they are still at work. */
function tellCaller(acquire: OtelSpan | undefined, name: string, attributes: Attributes): void {
  const caller = acquire?.caller;
  if (caller?.isRecording() === true) caller.addEvent(name, attributes);
}

function linked(acquire: OtelSpan | undefined): SpanOptions {
  return acquire === undefined ? {} : { links: [{ context: acquire.span.spanContext() }] };
}
