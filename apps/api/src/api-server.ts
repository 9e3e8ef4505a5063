import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newRequestId } from '#common';
import type { ApiConfig } from '#platform/config';
import { NestLogger } from '#platform/logging';
import { ApiModule } from './api.module.js';
import type { ApiServices } from './api-services.js';
import { addDocumentation, buildDocument } from './documentation.js';
import {
  addAuthGuard,
  addBodyLimits,
  addIdempotency,
  addRateLimits,
  addRequestTracking,
  addResponseHeaders,
  bodyLimitBytes,
  ErrorFilter,
  limitReplay,
  refuseUnauthenticated,
  RouteTable,
} from '#gateway';
import { sendClientError, sendFrameworkError } from './http/client-error.js';
import { addCompression } from './http/compression.js';
import { corsOptions } from './http/cors.js';
import { addFramingGuard } from './http/framing.guard.js';
import { addJsonParser } from './http/json.parser.js';
import { addMultipartParser } from './http/multipart.parser.js';
import { serviceVersion } from './http/service-version.js';
import { addSlowClientGuard } from './http/slow-client.guard.js';

/** How long a request may take to arrive, in ms; 35 MB at 1 Mbit/s. */
const requestTimeoutMs = 300_000;

/** A server that has not been opened yet. */
export interface ApiServer {
  /** Answers the base URL. Rejects when the port is taken. */
  listen(port: number, host: string): Promise<string>;
  /** Closes the port and every connection that is left. */
  close(): Promise<void>;
}

function adapterFor({ site, trustedProxies }: ApiConfig, version: string): FastifyAdapter {
  return new FastifyAdapter({
    bodyLimit: bodyLimitBytes,
    genReqId: () => newRequestId(site),
    requestIdHeader: false,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: true,
    // The framing guard does that.
    http: { requireHostHeader: false },
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) =>
      sendFrameworkError(request, reply, version),
    clientErrorHandler: (error: Error, socket: Socket) => sendClientError(error, socket, { site, version }),
  });
}

/** Builds the application: hooks from the outermost in, routes, documentation. */
export async function createApplication(services: ApiServices): Promise<NestFastifyApplication> {
  const version = serviceVersion();
  const { config, logger } = services;
  const adapter = adapterFor(config, version);
  const app = await NestFactory.create<NestFastifyApplication>(ApiModule.of(services), adapter, {
    bodyParser: false,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const server: FastifyInstance = adapter.getInstance();
  const routes = new RouteTable();
  routes.attach(server);
  addBodyLimits(server);
  addResponseHeaders(server, version);
  addRequestTracking(server, services);
  addFramingGuard(server);
  addSlowClientGuard(server, config.stalledMs);
  addAuthGuard(server, services, refuseUnauthenticated(services.limits.limiter));
  const { limits, balances, budgets } = services;
  const limited = { limiter: limits.limiter, balances, budgets };
  addRateLimits(server, limited);
  const { idempotency } = services;
  addIdempotency(server, {
    idempotency,
    budgets,
    limitReplay: (request, reply) => limitReplay(limited, request, reply),
  });
  addJsonParser(server);
  addMultipartParser(server);
  await addCompression(server);
  const errors = services.metrics.counter('sluice_http_errors_total', 'Errors answered, by code.', ['code']);
  app.useGlobalFilters(new ErrorFilter(routes, logger, (code) => errors.inc({ code })));
  if (config.corsOrigins.length > 0) app.enableCors(corsOptions(config.corsOrigins));
  addDocumentation(server, () => buildDocument(app));
  return app;
}

export async function createServer(services: ApiServices): Promise<ApiServer> {
  const app = await createApplication(services);
  return {
    listen: async (port, host) => {
      await app.listen(port, host);
      return await app.getUrl();
    },
    close: () => app.close(),
  };
}
