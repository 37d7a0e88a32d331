export { otelTelemetry, type OtelTelemetryOptions } from '../telemetry/otel/index.js';
