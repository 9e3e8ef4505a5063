import { connect } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type JobUsage, noTokens, PlatformError } from '#common';
import { HttpExchange } from '#platform/http';
import { createLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { noTracing } from '#platform/tracing';
import type { StartedJob } from '../pipeline/job-runner.js';
import { Drain } from '../pipeline/drain.js';
import { StoreBudgets } from '../request/store-budgets.js';
import { EventStream } from '../pipeline/stream-events.js';
import { AccessLog } from './access-log.js';
import { addRequestTracking } from '../http/request-tracking.js';

const usage: JobUsage = { ...noTokens, promptTokens: 12, cachedTokens: 4, completionTokens: 3 };
const price = { sku: 'tokens', units: '-1', unitPriceNano: 1n, amountNano: 1_230_000n };

let server: FastifyInstance;
let metrics: Metrics;
let lines: Record<string, unknown>[];
let onLine: () => void;

async function listen(isOn = true): Promise<void> {
  lines = [];
  onLine = () => undefined;
  const stream = {
    write: (line: string) => {
      lines.push(JSON.parse(line) as Record<string, unknown>);
      onLine();
    },
  };
  metrics = new Metrics('api', { processMetrics: false });
  server = fastify({ genReqId: () => 'f00d-SLC', trustProxy: '127.0.0.1' });
  addRequestTracking(server, {
    drain: new Drain(),
    budgets: new StoreBudgets({ storeTimeoutMs: 1_000 }),
    metrics,
    tracing: noTracing,
    accessLog: new AccessLog(createLogger('api', { level: 'info', stream }), { isOn, meter: () => [price] }),
  });
  server.decorateRequest('responseRecording', null);
  server.get('/health/ready', () => 'ok');
  server.get('/metrics', () => 'ok');
  server.get('/api/v1/models/:id', () => 'one');
  server.post('/api/v1/stream', (request, reply) => runStream(request.body as string, reply));
  await server.listen({ port: 0, host: '127.0.0.1' });
}

/** A job that sends two events and then ends, fails or waits forever. */
async function runStream(end: string, reply: FastifyReply): Promise<void> {
  const { accessRecord: record } = reply.request;
  if (!record) throw new Error('There is no record.');
  Object.assign(record, { modelId: 'tiny', keySuffix: 'abc123', worker: 'gpu/w1', reservedNano: 5_000_000n });
  const job: StartedJob<{ type: string }> = {
    follow: async (onEvent) => {
      await onEvent({ type: 'silent' });
      expect(record.firstTokenMs).toBe(null);
      await onEvent({ type: 'text' });
      if (end === 'wait') await new Promise((resolve) => reply.raw.once('close', resolve));
      if (end !== 'end') throw new PlatformError('MODEL_OFFLINE', 'gone');
      record.finishedJob = { modality: 'chat', modelId: 'tiny', usage, pricing: null };
      return usage;
    },
  };
  const presenter = { present: ({ type }: { type: string }) => (type === 'text' ? ['{}'] : []), finish: () => [] };
  const stream = new EventStream(job, presenter, { keepAliveMs: 60_000, stalledMs: 60_000 });
  await stream.send(new HttpExchange(reply));
}

const address = (): { port: number } => server.server.address() as { port: number };

async function send(path: string, init: RequestInit = {}): Promise<void> {
  await (await fetch(`http://127.0.0.1:${address().port}${path}`, init)).text();
}

const text = { 'content-type': 'text/plain' };
const nextLine = (): Promise<void> => new Promise((resolve) => (onLine = resolve));

beforeEach(() => listen());

afterEach(async () => {
  server.server.closeAllConnections();
  await server.close();
});

describe('the access log', () => {
  it('has one line with route, status and client of each request, without its path and query', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9', 'x-stainless-retry-count': '2', 'user-agent': 'secret-agent' };
    await send('/api/v1/models/private-id?token=secret-token', { headers });
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.any(String),
        name: 'api',
        msg: 'request',
        requestId: 'f00d-SLC',
        method: 'GET',
        route: '/api/v1/models/:id',
        status: 200,
        ms: expect.any(Number),
        retries: 2,
        client: '203.0.113.9',
      },
    ]);
  });

  it('has model, key, worker, first token, tokens and the cost of a finished stream', async () => {
    await send('/api/v1/stream', { method: 'POST', body: 'end', headers: text });
    expect(lines).toMatchObject([
      {
        route: '/api/v1/stream',
        status: 200,
        model: 'tiny',
        key: 'abc123',
        worker: 'gpu/w1',
        firstTokenMs: expect.any(Number),
        promptTokens: 12,
        cachedTokens: 4,
        completionTokens: 3,
        costUsd: '0.001230000',
      },
    ]);
    expect(lines[0]).not.toHaveProperty('reservedUsd');
    expect(lines[0]).not.toHaveProperty('code');
  });

  it('names the error of a stream that fails after its status was sent, and the most that it can cost', async () => {
    await send('/api/v1/stream', { method: 'POST', body: 'fail', headers: text });
    expect(lines).toMatchObject([{ status: 200, code: 'MODEL_OFFLINE', reservedUsd: '0.005000000' }]);
    expect(lines[0]).not.toHaveProperty('costUsd');
    expect(lines[0]).not.toHaveProperty('aborted');
  });

  it('marks a response whose client disconnected, with the status as sent', async () => {
    const logged = nextLine();
    const client = new AbortController();
    const init = { method: 'POST', body: 'wait', headers: text, signal: client.signal };
    const response = await fetch(`http://127.0.0.1:${address().port}/api/v1/stream`, init);
    await response.body?.getReader().read();
    client.abort();
    await logged;
    expect(lines).toMatchObject([{ status: 200, aborted: true, model: 'tiny', firstTokenMs: expect.any(Number) }]);
  });

  it('gives a request whose client disconnects before a status is sent the status 499', async () => {
    let arrived: () => void = () => undefined;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    server.server.on('request', () => arrived());
    const logged = nextLine();
    const socket = connect(address().port, '127.0.0.1');
    socket.write('POST /api/v1/stream HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\ncontent-type: text/plain\r\n\r\nab');
    await arrival;
    socket.destroy();
    await logged;
    expect(lines).toMatchObject([{ route: '/api/v1/stream', aborted: true }]);
    expect(lines).toMatchObject([{ status: 499, client: '127.0.0.1' }]);
  });

  it('leaves health and metrics out', async () => {
    await send('/health/ready');
    await send('/metrics');
    await send('/health/nothing');
    await send('/elsewhere');
    expect(lines).toMatchObject([{ route: 'unmatched', status: 404 }]);
  });

  it('can be turned off', async () => {
    await server.close();
    await listen(false);
    await send('/elsewhere');
    expect(lines).toEqual([]);
  });
});

it('measures the time to the first token as the client sees it, by model', async () => {
  await send('/api/v1/stream', { method: 'POST', body: 'end', headers: text });
  await send('/api/v1/models/a');
  const scraped = await metrics.render();
  expect(scraped).toContain('sluice_http_time_to_first_token_seconds_count{app="api",model="tiny"} 1');
});

it('measures the duration of requests', async () => {
  await send('/api/v1/models/a');
  const sum = /^sluice_http_request_duration_seconds_sum\{[^}]*\} (.*)$/m.exec(await metrics.render())?.[1];
  expect(Number(sum)).toBeGreaterThan(0);
});
