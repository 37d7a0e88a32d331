import { SpanStatusCode, type Attributes, type Exception, type Span } from '@opentelemetry/api';
import { isLockError, type TelemetryLabels, type TelemetrySpan } from '../../core/index.js';

/** One span of OpenTelemetry's. */
export class OtelSpan implements TelemetrySpan {
  constructor(
    readonly span: Span,
    /** What was active when it began: the span of the code that asked, or undefined. */
    readonly caller: Span | undefined,
    private readonly keys: boolean,
  ) {}

  end(labels: TelemetryLabels, error?: unknown): void {
    this.span.setAttributes(attributesOf(labels));
    if (error !== undefined) {
      this.span.recordException(this.exceptionOf(error));
      this.span.setStatus({ code: SpanStatusCode.ERROR, message: codeOf(error) });
    }
    this.span.end();
  }

  /** The text of an error and its stack name the key. */
  private exceptionOf(error: unknown): Exception {
    if (this.keys && error instanceof Error) return error;
    const name = error instanceof Error ? error.name : typeof error;
    return { name, message: codeOf(error) };
  }
}

/** Labels as a span carries them: `lock.driver`, `lock.outcome` and so on. */
export function attributesOf(labels: TelemetryLabels): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`lock.${name}`, value]));
}

function codeOf(error: unknown): string {
  return isLockError(error) ? error.code : 'UNKNOWN';
}
