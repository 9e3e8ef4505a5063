import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseNanos } from '#common';
import { itInFull } from '#test/extent';
import { type Platform, startPlatform } from '#test/platform';
import { stopConsistently } from '#test/stop-consistently';

/* What an operator finds in the log of the api about a request whose id a caller quotes. */

let platform: Platform;
let logged = '';

beforeAll(async () => {
  platform = await startPlatform({
    env: { SLUICE_TRUSTED_PROXIES: '127.0.0.1', SLUICE_QUEUE_LIMIT: '1' },
    onLog: (text) => (logged += text),
  });
});

afterAll(() => stopConsistently(platform));

interface Sent {
  id: string;
  status: number;
}

async function send(path: string, body: object | null, headers: Record<string, string> = {}): Promise<Sent> {
  const response = await fetch(`${platform.baseUrl}/${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${platform.inferenceKey}`,
      'x-forwarded-for': '203.0.113.7',
      ...(body !== null && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  await response.text();
  return { id: response.headers.get('cf-ray') ?? '', status: response.status };
}

const chat = (content: string, more: object = {}) => ({
  model: 'tiny-llama',
  messages: [{ role: 'user', content }],
  ...more,
});

/** The lines of the access log about a request, once there is one. */
async function linesOf(id: string): Promise<Record<string, unknown>[]> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const found = logged
      .split('\n')
      .map((line) => line.replace(/^[^{]*/, ''))
      .filter((line) => line.startsWith('{') && line.includes(id))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'request');
    if (found.length > 0) return found;
    if (performance.now() > deadline) throw new Error(`There is no line about ${id}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('the access log of the api', () => {
  it('has one line about an answered request, whose cost is what the ledger charges', async () => {
    const before = await platform.query<{ account: string }>(
      'SELECT account_id::text AS account FROM api_keys LIMIT 1',
    );
    for (const stream of [false, true]) {
      const { id } = await send('chat/completions', chat('secret-words [[tokens=3]]', { stream }), {
        'x-stainless-retry-count': '1',
      });
      const lines = await linesOf(id);
      expect(lines).toMatchObject([
        {
          level: 'info',
          name: 'api',
          method: 'POST',
          route: '/api/v1/chat/completions',
          status: 200,
          account: before[0]?.account,
          key: platform.inferenceKey.slice(-6),
          model: 'tiny-llama',
          worker: expect.stringMatching(/^default\/worker-/),
          promptTokens: expect.any(Number),
          cachedTokens: expect.any(Number),
          completionTokens: 3,
          retries: 1,
          client: '203.0.113.7',
        },
      ]);
      expect(typeof lines[0]?.['firstTokenMs']).toBe(stream ? 'number' : 'undefined');
      await platform.closedJobs();
      const [hold] = await platform.query<{ charged: string }>(
        'SELECT charged_nano::text AS charged FROM holds WHERE request_id = $1',
        [id],
      );
      expect(BigInt(hold?.charged ?? 0)).toBeGreaterThan(0n);
      expect(String(parseNanos(String(lines[0]?.['costUsd'])))).toBe(hold?.charged);
    }
    expect(logged).not.toContain('secret-words');
  });

  it('names the id by which the Admin API finds the request, its worker and its stages', async () => {
    const { id } = await send('chat/completions', chat('[[tokens=3 delay=20]]', { stream: true }));
    const [line] = await linesOf(id);
    await platform.closedJobs();
    const headers = { authorization: `Bearer ${platform.adminKey}` };
    const read = async (path: string) => {
      const response = await fetch(`${platform.origin}/api/admin/v1/requests${path}`, { headers });
      expect(response.status).toBe(200);
      return (await response.json()) as unknown;
    };
    const row = (await read(`/${id}`)) as Record<string, number>;
    expect(row).toMatchObject({ id, state: 'succeeded', worker: line?.['worker'], completionTokens: 3 });
    expect(await read(`?id=${id}`)).toMatchObject({ data: [{ id, worker: line?.['worker'] }], nextCursor: null });
    const { queuedMs, firstTokenMs, executionMs, totalMs } = row as Record<string, number>;
    expect(firstTokenMs).toBeGreaterThanOrEqual(queuedMs ?? NaN);
    expect(firstTokenMs).toBeLessThanOrEqual(totalMs ?? NaN);
    // Two more tokens follow the first one, 20 ms apart.
    expect(executionMs).toBeGreaterThanOrEqual((firstTokenMs ?? NaN) - (queuedMs ?? NaN) + 20);
  });

  it('has one line about each refused request, with its code', async () => {
    const refused: [Sent, number, string][] = [
      [
        await send('chat/completions', chat('x'), { authorization: 'Bearer slk_unknown1234567890' }),
        401,
        'AUTHENTICATION_FAILED',
      ],
      [await send('chat/completions', chat('x', { model: 'secret-words' })), 404, 'MODEL_NOT_FOUND'],
      [await send('nowhere?key=secret-words', null), 404, 'NOT_FOUND'],
      [await send('chat/completions', chat('x', { temperature: 'secret-words' })), 400, 'INVALID_REQUEST'],
      [await send('chat/completions', chat('[[fail=0]]')), 500, 'INFERENCE_FAILED'],
      [await send('%E0%A4%A', null), 400, 'INVALID_REQUEST'],
    ];
    for (const [{ id, status }, expected, code] of refused) {
      expect(status, code).toBe(expected);
      expect(await linesOf(id), code).toMatchObject([{ status: expected, code: expect.stringContaining(code) }]);
    }
    const [unknownKey] = await linesOf(refused[0]?.[0].id ?? '');
    expect(unknownKey).not.toHaveProperty('key');
    expect(unknownKey).not.toHaveProperty('account');
    expect(logged).not.toContain('secret-words');
  });

  it('has a line about a disconnected request, with the most that it can cost', async () => {
    const client = new AbortController();
    const response = await fetch(`${platform.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.inferenceKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(chat('[[tokens=400 delay=50]]', { stream: true })),
      signal: client.signal,
    });
    const id = response.headers.get('cf-ray') ?? '';
    await response.body?.getReader().read();
    client.abort();
    const lines = await linesOf(id);
    expect(lines).toMatchObject([{ status: 200, aborted: true, model: 'tiny-llama', reservedUsd: expect.any(String) }]);
    expect(lines[0]).not.toHaveProperty('costUsd');
    await platform.closedJobs();
  });

  itInFull('has a line about a request that no worker can serve', async () => {
    await platform.kill('worker', 'SIGTERM');
    const deadline = performance.now() + 30_000;
    for (;;) {
      const { id, status } = await send('chat/completions', chat('x'));
      const lines = await linesOf(id);
      expect(lines).toMatchObject([{ status }]);
      if (lines[0]?.['code'] === 'MODEL_OFFLINE') break;
      if (performance.now() > deadline) throw new Error('The model stays online.');
    }
    await platform.closedJobs();
  });

  it('has no line about health and metrics', async () => {
    await (await fetch(`${platform.origin}/health/ready`)).text();
    await (await fetch(`${platform.origin}/metrics`)).text();
    const { id } = await send('models', null);
    await linesOf(id);
    expect(logged).not.toMatch(/"msg":"request"[^\n]*(health|metrics)|(health|metrics)[^\n]*"msg":"request"/);
  });
});
