import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectInvariant } from '#test/invariant';
import { type Platform, startPlatform } from '#test/platform';
import { redisAvailable } from '#test/redis';

/* Metrics of running processes and their values. test/k8s checks that they include all that the dashboards query. */

const roles = ['api', 'worker', 'ops'] as const;

let platform: Platform;
const texts = new Map<string, string>();

beforeAll(async () => {
  platform = await startPlatform({
    transport: redisAvailable ? 'redis' : 'postgres',
    env: { SLUICE_LEDGER_VERIFY_MS: '300' },
  });
  await Promise.all([
    ask({ content: 'Hello [[tokens=4]]' }),
    ask({ content: 'Hello [[tokens=4]]', stream: true }),
    ask({ content: 'Hello [[fail=0]]' }),
    ask({ content: 'Hello', model: 'unknown' }),
  ]);
  await platform.closedJobs();
  // Heartbeats of hosts and bus, and a ledger verification that covers all requests.
  await until(async () => {
    await scrapeAll();
    const [worker = '', ops = '', api = ''] = (['worker', 'ops', 'api'] as const).map((role) => texts.get(role));
    return (
      /sluice_engine_running_sequences\{/.test(worker) &&
      /sluice_ledger_broken_invariants\{/.test(ops) &&
      figure(ops, 'sluice_jobs_closed_total', 'state="failed"') === 1 &&
      /^sluice_bus_lag_seconds\{/m.test(api)
    );
  });
});

afterAll(async () => {
  try {
    if (platform) await expectInvariant(platform);
  } finally {
    await platform?.stop();
  }
});

async function ask({
  content,
  model = 'tiny-llama',
  stream = false,
}: {
  content: string;
  model?: string;
  stream?: boolean;
}) {
  const response = await fetch(`${platform.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
  });
  await response.text();
  return response;
}

async function scrapeAll(): Promise<void> {
  for (const role of roles) {
    const response = await fetch(`${platform.operationsUrl(role)}/metrics`);
    texts.set(role, await response.text());
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadline)
      throw new Error(`timed out waiting for metrics\n${[...texts.values()].join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Value of the first series of a metric whose labels contain `labels`. */
function figure(text: string, name: string, labels = ''): number | undefined {
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && each.includes(labels));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')));
}

describe('the metrics of running processes', () => {
  it('have base units, monotonic totals, and help texts', () => {
    for (const text of texts.values()) {
      const types = [...text.matchAll(/^# TYPE (sluice_\S+|gen_ai_\S+) (\S+)$/gm)].map(([, name = '', type = '']) => ({
        name,
        type,
      }));
      expect(types.length).toBeGreaterThan(5);
      for (const { name, type } of types) {
        expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|percent|nano|micros)(_|$)/);
        expect(`${name} ${name.endsWith('_total') ? 'counter' : 'other'}`).toBe(
          `${name} ${type === 'counter' ? 'counter' : 'other'}`,
        );
        expect(text).toMatch(new RegExp(`^# HELP ${name} \\S`, 'm'));
      }
    }
  });

  it('contain no id, key or client text', () => {
    for (const text of texts.values()) {
      expect(text).not.toMatch(/slk_|Hello|[0-9a-f]{16}-SLC/);
      expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-/);
    }
  });

  it('follow a request from its admission to its charge', () => {
    const [api = '', worker = '', ops = ''] = roles.map((role) => texts.get(role));
    const model = 'gen_ai_request_model="tiny-llama"';
    expect(figure(api, 'sluice_admission_decisions_total', 'reason="admitted"')).toBe(3);
    expect(figure(api, 'sluice_http_errors_total', 'code="MODEL_NOT_FOUND"')).toBe(1);
    expect(figure(api, 'sluice_http_requests_in_flight')).toBe(0);
    expect(figure(api, 'sluice_queue_jobs', 'state="active"')).toBe(0);
    expect(figure(api, 'sluice_model_workers', 'state="ready"')).toBe(1);
    expect(figure(api, 'sluice_ledger_reserved_usd_total')).toBeGreaterThan(0);
    expect(figure(worker, 'sluice_queue_pickup_seconds_count')).toBe(3);
    expect(figure(worker, 'gen_ai_server_request_duration_seconds_count', 'error_type=""')).toBe(2);
    expect(figure(worker, 'gen_ai_server_request_duration_seconds_count', 'INFERENCE_FAILED')).toBe(1);
    expect(figure(worker, 'gen_ai_server_time_to_first_token_seconds_count', model)).toBe(2);
    expect(figure(worker, 'gen_ai_client_token_usage_sum', 'gen_ai_token_type="output"')).toBe(8);
    expect(figure(worker, 'sluice_host_ready')).toBe(1);
    expect(figure(ops, 'sluice_ledger_reservations_closed_total', 'result="settled"')).toBe(2);
    expect(figure(ops, 'sluice_ledger_reservations_closed_total', 'result="released"')).toBe(1);
    expect(figure(ops, 'sluice_ledger_open_reservations')).toBe(0);
    expect(figure(ops, 'sluice_ledger_settled_usd_total')).toBeGreaterThan(0);
    expect(ops.match(/^sluice_ledger_broken_invariants\{.*\} 0$/gm)).toHaveLength(12);
  });
});
