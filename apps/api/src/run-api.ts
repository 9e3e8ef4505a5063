import type { ApiConfig } from '#platform/config';
import { createLogger } from '#platform/logging';
import { type ApiServices, closeServices, openServices } from './api-services.js';
import { type ApiServer, createServer } from './api-server.js';

/** Serves until SIGTERM or SIGINT, then lets what runs end and the process go. */
export async function runApi(config: ApiConfig): Promise<void> {
  const logger = createLogger('api');
  const services = await openServices(config, logger);
  const server = await createServer(services);
  const address = await server.listen(config.port, config.host);
  logger.info({ address }, `listening on ${address}`);
  // What is not ready now stands in the log for whoever starts this by hand; nobody may ask for a while.
  await services.readiness.report();
  const signal = await stopSignal();
  logger.info({ signal, graceMs: config.shutdownGraceMs }, 'draining: no new requests, open answers may end');
  await stop(services, server);
  logger.info('api stopped');
}

/**
 * New requests are turned away with 503 while open ones end: whoever routes them has until then to look elsewhere,
 * and nobody meets a closed port.
 */
async function stop(services: ApiServices, server: ApiServer): Promise<void> {
  services.readiness.drain();
  await services.drain.drain(services.config.shutdownGraceMs);
  await server.close();
  await closeServices(services);
}

/** The first signal starts the drain; a second one ends the process at once. */
function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (stopping) process.exit(1);
      stopping = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
