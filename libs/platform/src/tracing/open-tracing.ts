import type { TracingConfig } from '#platform/config';
import { noTracing, type Tracing } from './tracing.js';

/**
 * Traces of one process, named `service` unless `OTEL_SERVICE_NAME` says otherwise. OpenTelemetry's libraries are loaded
 * only when a collector is named.
 */
export async function openTracing(service: string, config: TracingConfig): Promise<Tracing> {
  if (!config.tracingOn) return noTracing;
  const { OtlpTracing } = await import('./otlp-tracing.js');
  return new OtlpTracing(service, config);
}
