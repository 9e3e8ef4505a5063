import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import type { Metrics } from '#platform/metrics';
import type { Tracing } from '#platform/tracing';
import type { Drain } from '../pipeline/drain.js';
import type { StoreBudgets } from '../request/store-budgets.js';
import type { AccessLog } from '../access-log/access-log.js';
import { AccessRecord } from '../access-log/access-record.js';

/** Routes that respond while the process stops, so that others learn of it. */
const operations = ['/health/', '/metrics'];

/** Those of `gen_ai.server.time_to_first_token` from 0.02 s on, and more: a request may wait long in the queue. */
const firstTokenBuckets = [0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 30, 60, 120, 300];

/** Status logged for responses whose client disconnected before they were sent, as nginx does. */
const clientClosedStatus = 499;

export interface TrackingServices {
  drain: Drain;
  budgets: StoreBudgets;
  metrics: Metrics;
  tracing: Tracing;
  accessLog: AccessLog;
}

/**
 * Counts requests in flight, records their metrics and their lines in the access log, gives them their budgets and
 * rejects new ones once the process stops.
 */
export function addRequestTracking(server: FastifyInstance, services: TrackingServices): void {
  const { drain, budgets, metrics, tracing } = services;
  const firstToken = firstTokenHistogram(metrics);
  drain.attach(server.server);
  server.decorateRequest('accessRecord', null);
  server.addHook('onRequest', (request, reply, done) => {
    const isOperation = operations.some((path) => request.url.startsWith(path));
    // A closed socket has no address.
    const client = request.ip;
    // Fastify's own `elapsedTime` is 0 unless there is an `onResponse` hook.
    const startedAtMs = performance.now();
    const elapsedMs = () => performance.now() - startedAtMs;
    drain.enter();
    budgets.begin(request.id);
    if (!isOperation) {
      metrics.httpRequestStarted();
      request.accessRecord = new AccessRecord(elapsedMs, ({ modelId }, ms) => {
        if (modelId !== null) firstToken.observe({ model: modelId }, ms / 1000);
        if (tracing.enabled) tracing.addEvent(request.id, 'first_token');
      });
      if (tracing.enabled) beginSpan(tracing, request);
    }
    // `onResponse` would not do: it is not called when the client disconnects, and the request would stay counted.
    reply.raw.once('close', () => {
      drain.leave();
      budgets.end(request.id);
      const exchange = { request, reply, client, ms: elapsedMs() };
      if (isOperation) observe(exchange, metrics);
      else end(exchange, services);
    });
    // Node then writes `Connection: close`: the client must not send its next request on this connection.
    if (drain.closing) reply.raw.shouldKeepAlive = false;
    if (!drain.draining || isOperation) return done();
    void reply.header('connection', 'close');
    done(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
  });
  // The process may have been told to stop meanwhile.
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (drain.closing) void reply.header('connection', 'close');
    done(null, payload);
  });
}

interface EndedExchange {
  request: FastifyRequest;
  reply: FastifyReply;
  client: string;
  ms: number;
}

/** Records a request whose connection or response has ended. */
function end(exchange: EndedExchange, { metrics, tracing, accessLog }: TrackingServices): void {
  const { route, status } = observe(exchange, metrics);
  const { request, reply, client, ms } = exchange;
  metrics.httpRequestEnded();
  if (tracing.enabled) endSpan(tracing, request, { route, status });
  const { id: requestId, method, headers } = request;
  const sentStatus = reply.raw.headersSent ? reply.raw.statusCode : clientClosedStatus;
  const aborted = reply.raw.writableFinished ? undefined : true;
  const account = request.caller?.accountId;
  const entry = { requestId, method, route, status: sentStatus, account, ms, client, aborted, headers };
  accessLog.write(entry, request.accessRecord ?? null);
}

function observe({ request, reply, ms }: EndedExchange, metrics: Metrics): { route: string; status: number } {
  const route = request.routeOptions.url ?? 'unmatched';
  const status = reply.raw.writableFinished ? reply.raw.statusCode : clientClosedStatus;
  metrics.observeHttpRequest({ method: request.method, route, status, seconds: ms / 1000 });
  return { route, status };
}

/** The time until the first token, with all waits, as the client sees it. The worker's figure has none of them. */
function firstTokenHistogram(metrics: Metrics) {
  return metrics.histogram({
    name: 'sluice_http_time_to_first_token_seconds',
    help: 'Streamed responses: time from the request to the first generated token (or audio) that was written.',
    labelNames: ['model'],
    buckets: firstTokenBuckets,
  });
}

/**
 * Names and attributes follow OpenTelemetry's HTTP server conventions. The URL is left out because it may contain
 * private data.
 */
function beginSpan(tracing: Tracing, { id, method, headers }: FastifyRequest): void {
  const { traceparent } = headers;
  tracing.begin(id, {
    name: method,
    kind: 'server',
    ...(typeof traceparent === 'string' && { parent: traceparent }),
    attributes: { 'http.request.method': method, 'sluice.request_id': id },
  });
}

function endSpan(tracing: Tracing, { id, method }: FastifyRequest, end: { route: string; status: number }): void {
  const { route, status } = end;
  tracing.end(id, {
    name: `${method} ${route}`,
    attributes: { 'http.route': route, 'http.response.status_code': status },
    ...(status >= 500 && { error: String(status) }),
  });
}
