export { prometheusTelemetry, type PrometheusTelemetryOptions } from './prometheus-telemetry.js';
