import {
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
  isSpanContextValid,
  type SpanContext,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingConfig } from '#platform/config';
import type { SpanEnd, SpanStart, Tracing } from './tracing.js';

const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A span in W3C Trace Context format. */
export function formatTraceParent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

/** Returns null unless it is a valid `traceparent` of version 00. */
export function parseTraceParent(text: string): SpanContext | null {
  const [, traceId, spanId, flags] = pattern.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
  return isSpanContextValid(context) ? context : null;
}

const kinds = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER, internal: SpanKind.INTERNAL } as const;

/** Maximum number of open spans, so that spans that never end are not kept forever. */
const maxOpen = 20_000;
/** Less than the time that a worker gives a stopping host (`leaveWithinMs`), in ms. */
const flushWithinMs = 2_000;

/** Exports spans to a collector in batches. */
export class OtlpTracing implements Tracing {
  readonly enabled = true;
  private readonly provider: TracerProvider;
  private readonly tracer: Tracer;
  private readonly open = new Map<string, Span>();

  constructor(service: string, config: TracingConfig) {
    const named = resourceFromAttributes({ 'service.name': service });
    this.provider = new TracerProvider({
      resource: defaultResource()
        .merge(named)
        .merge(detectResources({ detectors: [envDetector] })),
      sampler: samplerOf(config),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: new OTLPTraceExporter(),
          scheduledDelayMillis: config.traceExportDelayMs,
        }),
      ],
    });
    this.tracer = this.provider.getTracer('sluice');
  }

  begin(id: string, { name, kind, parent, attributes }: SpanStart): void {
    const cause = parent === undefined ? null : parseTraceParent(parent);
    const context = cause === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, cause);
    this.open.get(id)?.end();
    this.open.set(id, this.tracer.startSpan(name, { kind: kinds[kind], attributes }, context));
    const [oldest] = this.open.keys();
    if (this.open.size > maxOpen && oldest !== undefined) this.end(oldest);
  }

  parentFor(id: string): string | undefined {
    for (let name = id; name !== ''; name = name.replace(/(^|[.\-#])[^.\-#]*$/, '')) {
      const span = this.open.get(name);
      if (span !== undefined) return formatTraceParent(span.spanContext());
    }
    return undefined;
  }

  addEvent(id: string, name: string): void {
    this.open.get(id)?.addEvent(name);
  }

  end(id: string, { name, attributes, error }: SpanEnd = {}): void {
    const span = this.open.get(id);
    if (span === undefined) return;
    this.open.delete(id);
    if (name !== undefined) span.updateName(name);
    if (attributes !== undefined) span.setAttributes(attributes);
    if (error !== undefined) {
      span.setAttribute('error.type', error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }

  async close(): Promise<void> {
    for (const id of [...this.open.keys()]) this.end(id);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, flushWithinMs)));
    // An unavailable collector must not delay the exit of the process.
    await Promise.race([this.provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }
}

function samplerOf({ traceSampler, traceShare }: TracingConfig): Sampler {
  const parentBased = traceSampler.startsWith('parentbased_');
  const root = rootSampler(traceSampler.replace('parentbased_', ''), traceShare);
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, share: number): Sampler {
  if (name === 'always_on') return new AlwaysOnSampler();
  return name === 'always_off' ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(share);
}
