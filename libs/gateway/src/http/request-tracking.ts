import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import type { Tracing } from '#platform/tracing';
import type { Drain } from '../pipeline/drain.js';
import type { StoreBudgets } from '../pipeline/store-budgets.js';

/** Routes that respond while the process stops, so that others learn of it. */
const operations = ['/health/', '/metrics'];

/** Status logged for responses whose client disconnected before they were sent, as nginx does. */
const clientClosedStatus = 499;

/**
 * Counts requests in flight, records their metrics, gives them their budgets and rejects new ones once the process
 * stops.
 */
export function addRequestTracking(
  server: FastifyInstance,
  services: { drain: Drain; budgets: StoreBudgets; metrics: Metrics; tracing: Tracing; logger: Logger },
): void {
  const { drain, budgets, metrics, tracing, logger } = services;
  server.addHook('onRequest', (request, reply, done) => {
    const isOperation = operations.some((path) => request.url.startsWith(path));
    drain.enter();
    budgets.begin(request.id);
    if (!isOperation) metrics.httpRequestStarted();
    if (tracing.enabled && !isOperation) beginSpan(tracing, request);
    // Not `onResponse`: it is not called when the client disconnects, and the request would stay counted.
    reply.raw.once('close', () => {
      drain.leave();
      budgets.end(request.id);
      if (!isOperation) metrics.httpRequestEnded();
      const route = request.routeOptions.url ?? 'unmatched';
      const { method } = request;
      const status = reply.raw.writableFinished ? reply.raw.statusCode : clientClosedStatus;
      metrics.observeHttpRequest({ method, route, status, seconds: reply.elapsedTime / 1000 });
      if (tracing.enabled) endSpan(tracing, request, { route, status });
      logger.debug({ requestId: request.id, method, route, status, ms: Math.round(reply.elapsedTime) }, 'answered');
    });
    if (!drain.draining || isOperation) return done();
    void reply.header('connection', 'close');
    done(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
  });
  // The client must not send its next request on this connection.
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (drain.draining) void reply.header('connection', 'close');
    done(null, payload);
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
