import type { ApiConfig } from '#platform/config';
import { Readiness } from '#platform/health';
import { createLogger, NestLogger } from '#platform/logging';
import { stopSignal } from '#platform/nest';
import { createApplication } from './api-server.js';

/** Serves until SIGTERM or SIGINT, then lets what runs end and the process go. */
export async function runApi(config: ApiConfig): Promise<void> {
  const logger = createLogger('api');
  const app = await createApplication(config, logger);
  app.useLogger(new NestLogger(logger));
  await app.listen(config.port, config.host);
  const address = await app.getUrl();
  logger.info({ address }, `listening on ${address}`);
  // What is not ready now stands in the log for whoever starts this by hand; nobody may ask for a while.
  await app.get(Readiness).report();
  const signal = await stopSignal();
  logger.info({ signal, graceMs: config.shutdownGraceMs }, 'draining: no new requests, open answers may end');
  await app.close();
  logger.info('api stopped');
}
