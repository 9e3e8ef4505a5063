import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseConfig, TracingConfig } from '#platform/config';
import { OtlpReceiver } from '#test/otlp-receiver';
import { openTracing } from './open-tracing.js';
import { formatTraceParent, parseTraceParent } from './otlp-tracing.js';
import { noTracing } from './tracing.js';

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('traceparent', () => {
  it('is parsed and formatted as W3C Trace Context', () => {
    const context = parseTraceParent(caller);
    expect(context).toMatchObject({ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' });
    expect(context && formatTraceParent(context)).toBe(caller);
  });

  it.each(['', 'x', caller.toUpperCase(), `01${caller.slice(2)}`, `00-${'0'.repeat(32)}-b7ad6b7169203331-01`])(
    'is not %j',
    (text) => expect(parseTraceParent(text)).toBeNull(),
  );
});

describe('openTracing', () => {
  let receiver: OtlpReceiver;

  beforeEach(async () => {
    receiver = await OtlpReceiver.open();
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url);
  });

  afterEach(async () => {
    vi.unstubAllEnvs();
    await receiver.close();
  });

  const configured = (environment: Record<string, string> = {}) =>
    parseConfig(TracingConfig, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...environment });

  it('does nothing without a collector or when disabled', async () => {
    expect(await openTracing('api', parseConfig(TracingConfig, {}))).toBe(noTracing);
    expect(await openTracing('api', configured({ OTEL_SDK_DISABLED: 'true' }))).toBe(noTracing);
    expect(noTracing.parentFor('r')).toBeUndefined();
  });

  it('exports spans with their parents, attributes and failures', async () => {
    const tracing = await openTracing('sluice-api', configured());
    tracing.begin('r1', {
      name: 'POST',
      kind: 'server',
      parent: caller,
      attributes: { 'http.request.method': 'POST' },
    });
    const parent = tracing.parentFor('r1.3');
    tracing.begin('run', { name: 'generate', kind: 'internal', parent });
    expect(tracing.parentFor('run-safety#7')).toContain('0af7651916cd43dd8448eb211c80319c');
    expect(tracing.parentFor('unknown-1')).toBeUndefined();
    tracing.end('run', { error: 'DEVICE_LOST' });
    tracing.end('r1', { name: 'POST /x', attributes: { 'http.response.status_code': 200 } });
    tracing.end('r1');
    await tracing.close();
    const [run, request] = receiver.spans;
    expect(receiver.spans).toHaveLength(2);
    expect(request).toMatchObject({
      service: 'sluice-api',
      name: 'POST /x',
      kind: 2,
      failed: false,
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      attributes: { 'http.request.method': 'POST', 'http.response.status_code': 200 },
    });
    expect(run).toMatchObject({
      parentSpanId: request?.spanId,
      failed: true,
      attributes: { 'error.type': 'DEVICE_LOST' },
    });
  });

  it('respects an unsampled caller and the configured sampling ratio', async () => {
    const following = await openTracing('api', configured());
    following.begin('r', { name: 'GET', kind: 'server', parent: `${caller.slice(0, -2)}00` });
    expect(following.parentFor('r')).toMatch(/-00$/);
    await following.close();
    const none = await openTracing(
      'api',
      configured({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }),
    );
    none.begin('r', { name: 'GET', kind: 'server', parent: caller });
    await none.close();
    expect(receiver.spans).toEqual([]);
  });

  it('closes although the collector is unavailable', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:9');
    const tracing = await openTracing('api', configured());
    tracing.begin('r', { name: 'GET', kind: 'server' });
    await tracing.close();
    expect(receiver.spans).toEqual([]);
  });
});
