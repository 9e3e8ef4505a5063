import type { FastifyInstance } from 'fastify';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import type { Drain } from './drain.js';

/** Routes that answer while the process stops: they are how others learn of it. */
const operations = ['/health/', '/metrics'];

/** Counts requests in flight, times them for the metrics, and turns new ones away once the process stops. */
export function addRequestTracking(
  server: FastifyInstance,
  services: { drain: Drain; metrics: Metrics; logger: Logger },
): void {
  const { drain, metrics, logger } = services;
  server.addHook('onRequest', (request, reply, done) => {
    drain.enter();
    if (!drain.draining || operations.some((path) => request.url.startsWith(path))) return done();
    void reply.header('connection', 'close');
    done(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
  });
  server.addHook('onResponse', (request, reply, done) => {
    drain.leave();
    const route = request.routeOptions.url ?? 'unmatched';
    const { method } = request;
    const status = reply.raw.statusCode;
    metrics.observeHttpRequest({ method, route, status, seconds: reply.elapsedTime / 1000 });
    logger.debug({ requestId: request.id, method, route, status, ms: Math.round(reply.elapsedTime) }, 'answered');
    done();
  });
}
