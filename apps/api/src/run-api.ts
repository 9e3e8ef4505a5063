import { reportStores } from '#jobs/store-checks';
import type { ApiConfig } from '#platform/config';
import { outdatedNode } from '#platform/devices';
import { Readiness, startHealthServer } from '#platform/health';
import { createLogger, NestLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { stopSignal } from '#platform/nest';
import { PrismaService } from '#platform/prisma';
import { createApplication } from './api-server.js';

/** Serves until SIGTERM or SIGINT, then drains open requests and exits. */
export async function runApi(config: ApiConfig): Promise<void> {
  const logger = createLogger('api');
  const outdated = outdatedNode(process.version, new Date());
  if (outdated !== null) logger.warn({ node: process.version }, outdated);
  const app = await createApplication(config, logger);
  app.useLogger(new NestLogger(logger));
  await app.listen(config.port, config.host);
  const address = await app.getUrl();
  logger.info({ address }, `listening on ${address}`);
  const readiness = app.get(Readiness);
  const health = await startHealthServer({
    host: config.healthHost,
    port: config.healthPort,
    readiness,
    metrics: app.get(Metrics),
  });
  if (config.storedResponsesMs > 0) {
    const minutes = Math.round(config.storedResponsesMs / 60_000);
    logger.info(
      { storedResponsesMs: config.storedResponsesMs },
      `responses of /responses are stored for ${minutes} minutes, encrypted, unless they say store: false`,
    );
  }
  logger.info({ port: health.port }, `api serves health and metrics on port ${health.port}`);
  void reportStores(config, app.get(PrismaService), logger);
  // Logs what is not ready yet for an operator who starts this by hand; no probe may ask for a while.
  await readiness.dependencies();
  const signal = await stopSignal();
  logger.info(
    { signal, graceMs: config.shutdownGraceMs },
    'draining: new requests are rejected, open requests may finish',
  );
  await app.close();
  await health.close();
  logger.info('api stopped');
}
