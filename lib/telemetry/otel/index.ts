export { otelTelemetry } from './otel-telemetry.js';
export type { OtelTelemetryOptions } from './otel-options.js';
