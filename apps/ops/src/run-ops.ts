import { NestFactory } from '@nestjs/core';
import { reportStores } from '#jobs/store-checks';
import type { OpsConfig } from '#platform/config';
import { Readiness, startHealthServer } from '#platform/health';
import { createLogger, NestLogger } from '#platform/logging';
import { Metrics } from '#platform/metrics';
import { stopSignal } from '#platform/nest';
import { PrismaService } from '#platform/prisma';
import { OpsModule } from './ops.module.js';

/** Runs ops until SIGTERM or SIGINT; work in progress finishes first. Any number of replicas may run. */
export async function runOps(config: OpsConfig): Promise<void> {
  const stopped = stopSignal();
  const logger = createLogger('ops');
  // Nest's own logger comes later: whoever started the process reports why it could not start.
  const app = await NestFactory.createApplicationContext(OpsModule.forRoot(config, logger), {
    abortOnError: false,
    logger: false,
  });
  app.useLogger(new NestLogger(logger));
  const readiness = app.get(Readiness);
  const http = await startHealthServer({
    host: config.host,
    port: config.port,
    readiness,
    metrics: app.get(Metrics),
  });
  logger.info({ port: http.port }, `ops serves health and metrics on port ${http.port}`);
  void reportStores(config, app.get(PrismaService), logger);

  const signal = await stopped;
  logger.info({ signal }, 'stopping');
  readiness.drain();
  await app.close();
  await http.close();
  logger.info('ops stopped');
}
