import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OtlpReceiver, type ReceivedSpan } from '#test/otlp-receiver';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* One request as seen by a trace collector: from the API over the queue to the model host. */

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const caller = `00-${traceId}-00f067aa0ba902b7-01`;
const secret = 'pineapple-on-the-moon';

let platform: Platform;
let collector: OtlpReceiver;

beforeAll(async () => {
  collector = await OtlpReceiver.open();
  platform = await startPlatform({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' },
  });
});

afterAll(async () => {
  try {
    await stopConsistently(platform);
  } finally {
    await collector?.close();
  }
});

async function ask(content: string, headers: Record<string, string> = {}, stream = false): Promise<Response> {
  return await fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'tiny-llama', messages: [{ role: 'user', content }], stream }),
  });
}

/** Spans of a trace by name, once there are five; the three processes export them at different times. */
async function spansOf(wanted: (span: ReceivedSpan) => boolean): Promise<Map<string, ReceivedSpan>> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const found = collector.spans.filter(wanted);
    if (found.length >= 5) return new Map(found.map((span) => [span.name, span]));
    if (performance.now() > deadline) throw new Error(`only ${JSON.stringify(collector.spans)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('a traced request', () => {
  it('is one trace through api, worker and model host that continues the trace of its caller', async () => {
    const response = await ask(`${secret} [[tokens=3]]`, { traceparent: caller });
    expect(response.status).toBe(200);
    await response.text();
    const spans = await spansOf((span) => span.traceId === traceId);
    const api = spans.get('POST /api/v1/chat/completions');
    const worker = spans.get('process chat.tiny-llama');
    const host = spans.get('generate');
    expect(api).toMatchObject({
      service: 'sluice-api',
      kind: 2,
      parentSpanId: '00f067aa0ba902b7',
      attributes: { 'http.response.status_code': 200, 'sluice.request_id': response.headers.get('cf-ray') },
    });
    expect(worker).toMatchObject({
      service: 'sluice-worker',
      kind: 5,
      parentSpanId: api?.spanId,
      attributes: { 'gen_ai.usage.output_tokens': 3, 'sluice.request_id': response.headers.get('cf-ray') },
    });
    expect(host).toMatchObject({
      service: 'sluice-model-host',
      parentSpanId: worker?.spanId,
      attributes: { 'gen_ai.usage.output_tokens': 3 },
    });
    for (const name of ['admission', 'queue.wait'])
      expect(spans.get(name)).toMatchObject({
        service: 'sluice-api',
        kind: 1,
        parentSpanId: api?.spanId,
        failed: false,
      });
    expect(api?.events).toEqual([]);
    expect(collector.text).not.toContain(secret);
    expect(collector.text).not.toContain(platform.inferenceKey);
  });

  it('has an event for the first token of a stream', async () => {
    const streamed = traceId.replace('4bf', '5bf');
    const traceparent = caller.replace(traceId, streamed);
    await (await ask('Hello [[tokens=3]]', { traceparent }, true)).text();
    const spans = await spansOf((span) => span.traceId === streamed);
    expect(spans.get('POST /api/v1/chat/completions')?.events).toEqual(['first_token']);
  });

  it('records a failure where it occurred, as a code', async () => {
    const response = await ask('Hello [[fail=0]]');
    await response.text();
    expect(response.status).toBe(500);
    const id = response.headers.get('cf-ray');
    const deadline = performance.now() + 30_000;
    const find = () => collector.spans.filter((span) => span.attributes['sluice.request_id'] === id);
    while (find().length < 4 && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
    const failures = new Map(find().map((span) => [span.name, [span.failed, span.attributes['error.type']]]));
    expect(failures.get('POST /api/v1/chat/completions')).toEqual([true, '500']);
    expect(failures.get('process chat.tiny-llama')).toEqual([true, 'INFERENCE_FAILED']);
    expect(failures.get('admission')).toEqual([false, undefined]);
  });

  it('is not started for health and metrics requests', async () => {
    await (await fetch(`${platform.origin}/health/ready`)).text();
    await (await fetch(`${platform.origin}/metrics`)).text();
    expect(collector.spans.filter(({ name }) => /health|metrics/.test(name))).toEqual([]);
  });
});
