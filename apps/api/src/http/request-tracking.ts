import type { FastifyInstance } from 'fastify';
import { PlatformError } from '#common';
import type { Logger } from '#platform/logging';
import type { Metrics } from '#platform/metrics';
import type { Drain } from './drain.js';

/** Routes that answer while the process stops: they are how others learn of it. */
const operations = ['/health/', '/metrics'];

/** Status of answers whose caller left before they were out, as web servers log them. */
const callerLeft = 499;

/** Counts requests in flight, times them for the metrics, and turns new ones away once the process stops. */
export function addRequestTracking(
  server: FastifyInstance,
  services: { drain: Drain; metrics: Metrics; logger: Logger },
): void {
  const { drain, metrics, logger } = services;
  server.addHook('onRequest', (request, reply, done) => {
    const isOperation = operations.some((path) => request.url.startsWith(path));
    drain.enter();
    if (!isOperation) metrics.httpRequestStarted();
    // Not `onResponse`: that is not called for answers whose caller left, and such a request would count for ever.
    reply.raw.once('close', () => {
      drain.leave();
      if (!isOperation) metrics.httpRequestEnded();
      const route = request.routeOptions.url ?? 'unmatched';
      const { method } = request;
      const status = reply.raw.writableFinished ? reply.raw.statusCode : callerLeft;
      metrics.observeHttpRequest({ method, route, status, seconds: reply.elapsedTime / 1000 });
      logger.debug({ requestId: request.id, method, route, status, ms: Math.round(reply.elapsedTime) }, 'answered');
    });
    if (!drain.draining || isOperation) return done();
    void reply.header('connection', 'close');
    done(new PlatformError('SERVICE_UNAVAILABLE', 'The service is restarting.'));
  });
}
