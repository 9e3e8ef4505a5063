import type { TracingConfig } from '#platform/config';
import { noTracing, type Tracing } from './tracing.js';

/**
 * Opens tracing for one process, named `service` unless `OTEL_SERVICE_NAME` is set. Loads OpenTelemetry's libraries
 * only if a collector is configured.
 */
export async function openTracing(service: string, config: TracingConfig): Promise<Tracing> {
  if (!config.isTracingEnabled) return noTracing;
  const { OtlpTracing } = await import('./otlp-tracing.js');
  return new OtlpTracing(service, config);
}
