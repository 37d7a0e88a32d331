export { prometheusTelemetry, type PrometheusTelemetryOptions } from '../telemetry/prometheus/index.js';
