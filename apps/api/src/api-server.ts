import type { Socket } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newRequestId } from '#common';
import { addConsolePages } from '#console';
import { bodyLimitBytes, RequestHooks } from '#gateway';
import { AccessLog } from '#gateway/access-log';
import { meterJob } from '#modalities';
import type { ApiConfig } from '#platform/config';
import { serviceVersion } from '#platform/health';
import type { Logger } from '#platform/logging';
import { ApiModule } from './api.module.js';
import { addDocumentation, buildDocument } from './documentation.js';
import { BodyBudget } from './http/body-budget.js';
import { BodyReader, minimumRate } from './http/body-reader.js';
import { sendClientError, sendFrameworkError } from './http/client-error.js';
import { addCompression } from './http/compression.js';
import { corsOptions } from './http/cors.js';
import { addFramingGuard } from './http/framing.guard.js';
import { addJsonParser } from './http/json.parser.js';
import { addMultipartParser } from './http/multipart.parser.js';
import { addSlowClientGuard } from './http/slow-client.guard.js';

/** Maximum time for a request to arrive, in ms: 35 MB at 1 Mbit/s. */
const requestTimeoutMs = 300_000;

function adapterFor({ site, trustedProxies }: ApiConfig, version: string, accessLog: AccessLog): FastifyAdapter {
  return new FastifyAdapter({
    bodyLimit: bodyLimitBytes,
    genReqId: () => newRequestId(site),
    requestIdHeader: false,
    requestTimeout: requestTimeoutMs,
    forceCloseConnections: true,
    // The framing guard checks the host header.
    http: { requireHostHeader: false },
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) =>
      sendFrameworkError(request, reply, { version, accessLog }),
    clientErrorHandler: (error: Error, socket: Socket) => sendClientError(error, socket, { site, version, accessLog }),
  });
}

/** Builds the application: hooks from the outermost in, routes, documentation. Rejects when a store does not answer. */
export async function createApplication(config: ApiConfig, logger: Logger): Promise<NestFastifyApplication> {
  const version = serviceVersion();
  const accessLog = new AccessLog(logger, { isOn: config.accessLog === 'on', meter: meterJob });
  const adapter = adapterFor(config, version, accessLog);
  const app = await NestFactory.create<NestFastifyApplication>(ApiModule.forRoot(config, logger), adapter, {
    bodyParser: false,
    // Nest's own logger comes later: whoever started the process reports why it could not start.
    logger: false,
    abortOnError: false,
  });
  const server: FastifyInstance = adapter.getInstance();
  const hooks = app.get(RequestHooks, { strict: false });
  hooks.addTracking(server, version, accessLog);
  addFramingGuard(server);
  addSlowClientGuard(server, config.stalledMs);
  hooks.addAdmission(server);
  const bodies = new BodyReader(new BodyBudget(config.bodyBudget), minimumRate, hooks.addressOf);
  bodies.attach(server);
  addJsonParser(server, bodies);
  addMultipartParser(server, bodies);
  await addCompression(server);
  if (config.corsOrigins.length > 0) app.enableCors(corsOptions(config.corsOrigins));
  addConsolePages(server);
  addDocumentation(server, () => buildDocument(app, version));
  return app;
}
